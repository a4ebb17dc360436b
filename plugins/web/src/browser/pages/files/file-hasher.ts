import type { HashedPart, PartAnswer } from './hash-worker.ts'

/** Bytes of a part. */
const partSize = 2 ** 23

/** Trusted Types: https://www.w3.org/TR/trusted-types/#trustedscripturl-interface. Some browsers have none. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): URL }
}

/** Hashes files in a worker, one at a time. */
export class FileHasher {
  readonly #worker = new Worker(scriptUrl(new URL('./hash-worker.js', import.meta.url)), { type: 'module' })

  /**
   * @param between runs before each part, and may wait
   * @param onBytes takes the bytes of each part that was hashed
   * @returns the SHA-256, hexadecimal; `null` if the browser cannot read the file
   */
  async hash(
    file: File,
    between: () => Promise<void>,
    onBytes: (bytes: number) => void,
  ): Promise<string | null> {
    for (let start = 0; ; start += partSize) {
      await between()
      const part = file.slice(start, start + partSize)
      const isLast = start + partSize >= file.size
      const { sha256, isRead } = await this.#send({ part, isFirst: start === 0, isLast })
      if (!isRead) return null
      onBytes(part.size)
      if (isLast) return sha256
    }
  }

  end(): void {
    this.#worker.terminate()
  }

  #send(part: HashedPart): Promise<PartAnswer> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }: MessageEvent<PartAnswer>) => resolve(data)
      this.#worker.onerror = () => reject(new Error('The worker that hashes files could not run.'))
      this.#worker.postMessage(part)
    })
  }
}

let policy: ReturnType<TrustedTypes['createPolicy']> | null = null

/** The policy of the pages takes no plain text as the address of a script. */
function scriptUrl(url: URL): URL {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  if (trustedTypes === undefined) return url
  policy ??= trustedTypes.createPolicy('nodekeep-hash-worker', { createScriptURL: (address) => address })
  return policy.createScriptURL(url.href)
}
