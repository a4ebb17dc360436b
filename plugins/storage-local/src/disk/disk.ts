import fs, { type BigIntStats } from 'node:fs'
import { promisify } from 'node:util'

/**
 * All calls of the backend to the operating system, by paths and file descriptors. A test can replace it by a disk that
 * loses power. Failures are the system's own, with `code`.
 *
 * Calls that end in `Sync` are for what the system has in its memory anyway, so that they do not wait for the disk.
 */
export interface Disk {
  open(path: DiskPath, flags: number, mode?: number): Promise<number>
  openSync(path: string, flags: number): number
  close(fd: number): Promise<void>
  closeSync(fd: number): void
  /** Resolves with the number of bytes; 0 at the end of the file. */
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>
  /** Fills the buffer from the start of the file. Returns the number of bytes. */
  readSync(fd: number, buffer: Uint8Array): number
  /** Resolves with the number of bytes, which may be fewer than were given. */
  writev(fd: number, buffers: readonly Uint8Array[], position: number): Promise<number>
  /** Sets the time of modification, in seconds since 1970. */
  touchSync(fd: number, seconds: number): void
  fdatasync(fd: number): Promise<void>
  fsync(fd: number): Promise<void>
  fstatSync(fd: number): BigIntStats
  stat(path: string): Promise<BigIntStats>
  lstat(path: DiskPath): Promise<BigIntStats>
  /** Returns undefined if nothing has this path. */
  lstatSync(path: string): BigIntStats | undefined
  readlinkSync(path: string): string
  rename(from: DiskPath, to: string): Promise<void>
  link(existing: string, path: string): Promise<void>
  unlink(path: DiskPath): Promise<void>
  mkdir(path: string): Promise<void>
  rmdir(path: DiskPath): Promise<void>
  /** Yields the names in a folder in portions, in no order. */
  names(path: string): AsyncIterable<readonly string[]>
  /** Resolves with all names in a folder as bytes, for names that are no text. */
  namesInBytes(path: string): Promise<readonly Buffer[]>
  space(path: string): Promise<DiskSpace>
}

/** The space of a file system, in bytes. */
interface DiskSpace {
  /** Bytes that the node may still store. */
  readonly available: bigint
  /** 0 if the file system cannot tell. */
  readonly total: bigint
}

/** Bytes, for a name that is not valid UTF-8. */
export type DiskPath = string | Buffer

const portionNames = 1024

const open = promisify(fs.open)
const close = promisify(fs.close)
const fdatasync = promisify(fs.fdatasync)
const fsync = promisify(fs.fsync)
const rename = promisify(fs.rename)
const link = promisify(fs.link)
const unlink = promisify(fs.unlink)
const rmdir = promisify(fs.rmdir)

/** The disk of this machine. */
export const localDisk: Disk = {
  open,
  openSync: fs.openSync,
  close,
  closeSync: fs.closeSync,
  read: (fd, buffer, offset, length, position) =>
    new Promise((resolve, reject) => {
      fs.read(fd, buffer, offset, length, position, (error, count) =>
        error ? reject(error) : resolve(count),
      )
    }),
  readSync: (fd, buffer) => fs.readSync(fd, buffer, 0, buffer.length, 0),
  writev: (fd, buffers, position) =>
    new Promise((resolve, reject) => {
      fs.writev(fd, buffers, position, (error, count) => (error ? reject(error) : resolve(count)))
    }),
  // As text: Node replaces a negative number, a time before 1970, by the present.
  touchSync: (fd, seconds) => fs.futimesSync(fd, `${seconds}`, `${seconds}`),
  fdatasync,
  fsync,
  fstatSync: (fd) => fs.fstatSync(fd, { bigint: true }),
  stat: (path) => fs.promises.stat(path, { bigint: true }),
  lstat: (path) =>
    new Promise((resolve, reject) => {
      fs.lstat(path, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(stats)))
    }),
  lstatSync: (path) => fs.lstatSync(path, { bigint: true, throwIfNoEntry: false }),
  readlinkSync: (path) => fs.readlinkSync(path),
  rename,
  link,
  unlink,
  mkdir: (path) => fs.promises.mkdir(path),
  rmdir,
  names: namesInPortions,
  namesInBytes: (path) => fs.promises.readdir(path, { encoding: 'buffer' }),
  async space(path) {
    const { bavail, blocks, bsize } = await fs.promises.statfs(path, { bigint: true })
    return { available: bavail * bsize, total: blocks * bsize }
  },
}

/** `readdir` would make all names of a huge folder in one turn of the event loop. */
async function* namesInPortions(path: string): AsyncIterable<readonly string[]> {
  let portion: string[] = []
  for await (const { name } of await fs.promises.opendir(path, { bufferSize: portionNames })) {
    portion.push(name)
    if (portion.length < portionNames) continue
    yield portion
    portion = []
  }
  yield portion
}
