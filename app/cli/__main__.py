from hostdx.app.cli import main

main()
