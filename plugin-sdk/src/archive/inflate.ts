import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { ArchiveError } from './archive-failure.ts'

const chunkBytes = 256 * 1024

/**
 * Reads a gzip file (RFC 1952), which may have several members.
 *
 * @param maxBytes how many bytes may come out; the file may be a bomb
 * @param onProgress receives the share of the file that was read, from 0 to 1
 * @throws ArchiveError, and the errors of zlib and of the file system
 */
export async function* inflate(
  file: string,
  maxBytes: number,
  onProgress: (share: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  const { size } = await stat(file)
  const source = createReadStream(file, { highWaterMark: chunkBytes })
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  // `compose` and `pipeline` take it for an abort when gunzip ends before its source does.
  source.on('error', (error) => gunzip.destroy(error))
  source.pipe(gunzip)
  let bytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) {
        throw new ArchiveError(`has more than the ${maxBytes} bytes that are allowed`, 'PAYLOAD_TOO_LARGE')
      }
      onProgress(Math.min(1, source.bytesRead / size))
      yield chunk
    }
  } finally {
    source.destroy()
  }
  // zlib ends silently where something follows the last member.
  if (gunzip.bytesWritten !== size) throw new ArchiveError('has something behind its end')
}
