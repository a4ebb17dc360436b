import fs, { type BigIntStats } from 'node:fs'
import { promisify } from 'node:util'

/**
 * Everything that the backend asks of the operating system, by paths and file descriptors. A test puts a disk that
 * loses power in its place. Failures are the system's own, with `code`.
 *
 * The calls that end in `Sync` look at what the kernel keeps in memory anyway; none of them waits for data.
 */
export interface Disk {
  open(path: DiskPath, flags: number, mode?: number): Promise<number>
  close(fd: number): Promise<void>
  closeSync(fd: number): void
  /** Resolves with the number of bytes, 0 at the end of the file. */
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>
  /** Resolves with the number of bytes, which can be fewer than were given. */
  writev(fd: number, buffers: readonly Uint8Array[], position: number): Promise<number>
  /** Sets the time of modification, in seconds since 1970. */
  touchSync(fd: number, seconds: number): void
  fdatasync(fd: number): Promise<void>
  fsync(fd: number): Promise<void>
  fstatSync(fd: number): BigIntStats
  stat(path: string): Promise<BigIntStats>
  lstat(path: DiskPath): Promise<BigIntStats>
  /** Undefined when there is nothing. */
  lstatSync(path: string): BigIntStats | undefined
  readlinkSync(path: string): string
  rename(from: DiskPath, to: string): Promise<void>
  link(existing: string, path: string): Promise<void>
  unlink(path: DiskPath): Promise<void>
  mkdir(path: string): Promise<void>
  rmdir(path: DiskPath): Promise<void>
  /** The names in a folder, unsorted, in portions. */
  names(path: string): AsyncIterable<readonly string[]>
  /** The same as the bytes they are, all at once: for names that are no text. */
  namesInBytes(path: string): Promise<readonly Buffer[]>
  space(path: string): Promise<DiskSpace>
}

/** The room of a file system, in bytes. */
export interface DiskSpace {
  /** What may still be stored by the node. */
  readonly available: bigint
  /** 0 where the file system doesn't tell. */
  readonly total: bigint
}

/** Bytes for what has a name that is no valid UTF-8. */
export type DiskPath = string | Buffer

const PORTION = 1024

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
  close,
  closeSync: fs.closeSync,
  read: (fd, buffer, offset, length, position) =>
    new Promise((resolve, reject) => {
      fs.read(fd, buffer, offset, length, position, (error, count) =>
        error ? reject(error) : resolve(count),
      )
    }),
  writev: (fd, buffers, position) =>
    new Promise((resolve, reject) => {
      fs.writev(fd, buffers, position, (error, count) => (error ? reject(error) : resolve(count)))
    }),
  touchSync: (fd, seconds) => fs.futimesSync(fd, seconds, seconds),
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
  names: portions,
  namesInBytes: (path) => fs.promises.readdir(path, { encoding: 'buffer' }),
  async space(path) {
    const { bavail, blocks, bsize } = await fs.promises.statfs(path, { bigint: true })
    return { available: bavail * bsize, total: blocks * bsize }
  },
}

/** `readdir` would make all names of a huge folder in one go, while nothing else runs. */
async function* portions(path: string): AsyncIterable<readonly string[]> {
  let portion: string[] = []
  for await (const { name } of await fs.promises.opendir(path, { bufferSize: PORTION })) {
    portion.push(name)
    if (portion.length < PORTION) continue
    yield portion
    portion = []
  }
  yield portion
}
