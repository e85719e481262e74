# verdicts: CE AC
# why: strings within strings
value = f"{f'{f"""{f'''{1}'''}"""}'}"
value = f"{1:{1:{1:{1}}}}"
value = f"@repeat(10000, "{1!r:>{2}}")@"
print("contained")
