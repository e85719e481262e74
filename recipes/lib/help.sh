# Sourced before anything is installed: if --help is among the words, prints the head of the calling script and what the
# docstring of a module of madrl says, and ends.
#   . recipes/lib/help.sh SCRIPT MODULE.py WORD...
case " ${*:3} " in
  *' --help '* | *' -h '*)
    sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$1"
    echo
    python3 -c 'import ast, sys; print(ast.get_docstring(ast.parse(open(sys.argv[1], encoding="utf-8").read())))' \
      "$(dirname "${BASH_SOURCE[0]}")/../../madrl/$2"
    exit 0
    ;;
esac
