// verdicts: AC CE
// why: Java reads unicode escapes before anything else: the keyword, the name and a comment's end are hidden in them
// time_limit_s: 2
/* \u002a\u002f public \u0063lass \u004dain { public static void main(String[] arguments) { System.out.println("contained"); } } /**/
