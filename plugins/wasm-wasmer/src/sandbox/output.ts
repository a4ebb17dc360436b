import { Refusal } from './refusal.ts'

/** Collects what a program writes, up to a limit for all of it together. */
export class Output {
  readonly #limit: number
  #bytes = 0

  /** @param limit bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** @throws Refusal when it is too much */
  async collect(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    for await (const chunk of stream ?? []) {
      this.#bytes += chunk.length
      if (this.#bytes > this.#limit) {
        const kibibytes = Math.floor(this.#limit / 1024)
        throw new Refusal('UNPROCESSABLE', `The output limit of ${kibibytes} KiB was reached.`)
      }
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }
}
