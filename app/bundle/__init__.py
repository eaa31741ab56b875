"""hostdx as one file: made by `hostdx bundle`, started by any Python from 3.11 on."""
