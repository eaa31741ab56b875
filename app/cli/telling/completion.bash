%(complete_func)s() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} last response completion type value
    response=$(env HOSTDX_LINE="$line" %(complete_var)s=bash_complete "$1" 2>/dev/null)
    last=${line##*[[:space:]]}
    COMPREPLY=()
    for completion in $response; do
        type=${completion%%%%,*} value=${completion#*,}
        case $type in
            dir) compopt -o dirnames 2>/dev/null ;;
            file) compopt -o default 2>/dev/null ;;
            plain)
                # bash breaks words at a colon and replaces only what stands behind it
                if [[ $COMP_WORDBREAKS == *:* && $last == *:* ]]; then
                    value=${value#"${last%%"${last##*:}"}"}
                fi
                COMPREPLY+=("$value")
                ;;
        esac
    done
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
