let count = 0, found = false;
process.stdin.on("data", (piece) => {
  for (const byte of piece) {
    if (byte === 55) found = true;
    if (byte === 10) {
      count += found;
      found = false;
    }
  }
});
process.stdin.on("end", () => console.log(count));
