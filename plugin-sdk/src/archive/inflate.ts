import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ArchiveError } from './archive-failure.ts'

const chunkBytes = 256 * 1024

/**
 * Inflates a gzip file (RFC 1952), which may have several members.
 *
 * @param maxBytes how many bytes may come out; the file may be a bomb
 * @throws ArchiveError, and the errors of zlib and of the source
 */
export async function* inflate(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Buffer, void, undefined> {
  let read = 0
  async function* counted() {
    for await (const chunk of source) {
      read += chunk.length
      yield chunk
    }
  }
  const compressed = Readable.from(counted(), { highWaterMark: 1 })
  const gunzip = createGunzip({ chunkSize: chunkBytes })
  // `compose` and `pipeline` take it for an abort when gunzip ends before its source does.
  compressed.on('error', (error) => gunzip.destroy(error))
  compressed.pipe(gunzip)
  let bytes = 0
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) {
        throw new ArchiveError(`has more than the ${maxBytes} bytes that are allowed`, 'PAYLOAD_TOO_LARGE')
      }
      yield chunk
    }
  } finally {
    compressed.destroy()
  }
  // zlib ends silently where something follows the last member.
  if (gunzip.bytesWritten !== read) throw new ArchiveError('has something behind its end')
}
