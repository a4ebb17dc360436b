/** Milliseconds between two changes of the line. */
const stepMs = 200

/** Seconds before the time that is left is told: the first files tell too little. */
const firstSeconds = 3

/** The line on a terminal that tells how far a check is. */
export class CheckProgress {
  /** Whether somebody sees it. Standard output may go to a file. */
  readonly isShown = process.stderr.isTTY === true
  readonly #begun = performance.now()
  #all = { files: 0, bytes: 0 }
  #done = { files: 0, bytes: 0 }
  #drawn = 0

  /** Counts a file that is to come. */
  expect(bytes: number): void {
    this.#all = { files: this.#all.files + 1, bytes: this.#all.bytes + bytes }
  }

  /** Counts a file that was read. */
  advance(bytes: number): void {
    this.#done = { files: this.#done.files + 1, bytes: this.#done.bytes + bytes }
    this.#draw()
  }

  /** Prints a line of the outcome above the progress. */
  print(line: string): void {
    if (this.isShown) process.stderr.write('\r\u001b[2K')
    console.log(line)
    this.#drawn = 0
    this.#draw()
  }

  end(): void {
    if (this.isShown) process.stderr.write('\r\u001b[2K')
  }

  #draw(): void {
    const now = performance.now()
    if (!this.isShown || now - this.#drawn < stepMs) return
    this.#drawn = now
    const [all, done] = [this.#all, this.#done]
    // Files may have come or grown since they were counted. A file costs some time whatever its size.
    const weight = ({ files, bytes }: typeof all) => files * 20_000 + bytes
    const share = Math.min(1, weight(done) / Math.max(1, weight(all)))
    const bar = '#'.repeat(Math.round(share * 20)).padEnd(20, '-')
    const seconds = (now - this.#begun) / 1000
    const left =
      seconds < firstSeconds || share === 0 ? '' : `, ${timeText((seconds * (1 - share)) / share)} left`
    const bytes = `${sizeText(done.bytes)} of ${sizeText(all.bytes)}`
    process.stderr.write(`\r\u001b[2K[${bar}] ${done.files} of ${all.files} files, ${bytes}${left}`)
  }
}

function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}

function timeText(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  return seconds < 3600 ? `${Math.ceil(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`
}
