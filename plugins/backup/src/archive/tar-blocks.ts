import { Header } from 'tar/header'
import { Pax } from 'tar/pax'

/** The facts of an entry in its header of tar. */
export interface TarHead {
  readonly path: string
  readonly type: 'file' | 'directory'
  readonly size: number
  readonly modified: Date
}

const blockBytes = 512

/** The two empty blocks at the end of an archive. */
export const tarEnd = Buffer.alloc(2 * blockBytes)

/**
 * Returns the blocks before the content of an entry (POSIX.1-2024, pax). Only the owner may read it: an archive has secrets.
 * Names, sizes and times that do not fit into the header have a pax header before it.
 */
export function tarHeader(head: TarHead): Buffer {
  const { type, size, modified } = head
  const path = pathOf(head)
  const { block, isExact } = ustar(path, codes[type], size, modified)
  if (isExact && modified.getTime() % 1000 === 0) return block
  const records = Buffer.from(new Pax({ path, size, mtime: modified }).encodeBody())
  const pax = ustar('PaxHeader', 'ExtendedHeader', records.length, modified)
  return Buffer.concat([pax.block, records, tarPadding(records.length), block])
}

/** Returns a header of one block, whatever the size is. The name must be short, and the time of whole seconds. */
export function shortTarHeader(head: TarHead): Buffer {
  return ustar(pathOf(head), codes[head.type], head.size, head.modified).block
}

/** The zeros that fill up the last block of a content. */
export function tarPadding(size: number): Buffer {
  return tarEnd.subarray(0, (blockBytes - (size % blockBytes)) % blockBytes)
}

const codes = { file: 'File', directory: 'Directory' } as const

function ustar(
  path: string,
  type: 'File' | 'Directory' | 'ExtendedHeader',
  size: number,
  modified: Date,
): { block: Buffer; isExact: boolean } {
  const header = new Header({
    path,
    type,
    mode: type === 'Directory' ? 0o700 : 0o600,
    uid: 0,
    gid: 0,
    size,
    mtime: new Date(Math.floor(modified.getTime() / 1000) * 1000),
  })
  // A size of 8 GiB or more, or a negative time, is written in base 256, as GNU tar does.
  const isExact = !header.encode()
  return { block: header.block as Buffer, isExact }
}

function pathOf({ path, type }: TarHead): string {
  return type === 'file' ? path : `${path}/`
}
