import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type FileRoom, type FilesService, KeyedLock, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { Block } from '../../protocol/content-blocks.ts'

const isHash = /^[0-9a-f]{64}$/

/**
 * Blocks that clients have sent, as files that are named by their SHA-256, in a folder for each user. They survive a restart. After
 * a power failure a block may be damaged, so the whole file is verified before it appears. They count as room that their user takes.
 */
export class StagedBlocks {
  readonly #folder: string
  /** The most bytes of all blocks of a user. */
  readonly mostBytes: number
  readonly #files: Pick<FilesService, 'holdRoom'>
  /** The room of each block, by its file. */
  readonly #rooms = new Map<string, FileRoom>()
  readonly #sizes = new Map<string, Promise<Map<string, number>>>()
  /** Bytes that are being received, by user. */
  readonly #receiving = new Map<string, number>()
  /** Blocks of a user get their names, and are removed, one after the other. */
  readonly #lock = new KeyedLock()

  constructor(folder: string, mostBytes: number, files: Pick<FilesService, 'holdRoom'>) {
    this.#folder = folder
    this.#files = files
    this.mostBytes = mostBytes
  }

  /** The sizes of a user's blocks, by their hashes. */
  of(userUuid: string): Promise<ReadonlyMap<string, number>> {
    return this.#sizesOf(userUuid)
  }

  fileOf(userUuid: string, sha256: string): string {
    return join(this.#folder, userUuid, sha256)
  }

  /**
   * Stores a block.
   *
   * @throws NodekeepError VALIDATION_ERROR if the bytes are not those of the block, INSUFFICIENT_STORAGE
   */
  async add(userUuid: string, block: Block, content: AsyncIterable<Uint8Array>): Promise<void> {
    const sizes = await this.#sizesOf(userUuid)
    const receiving = this.#receiving.get(userUuid) ?? 0
    const stored = sizes.values().reduce((sum, size) => sum + size, 0)
    if (stored + receiving + block.size > this.mostBytes) throw tooManyBytes(this.mostBytes)
    this.#receiving.set(userUuid, receiving + block.size)
    try {
      const room = this.#files.holdRoom({ uuid: userUuid })
      try {
        await room.extend(block.size)
        await this.#receive(userUuid, block, content, sizes)
      } catch (error) {
        room.release()
        throw error
      }
      this.#setRoom(userUuid, block.sha256, room)
    } catch (error) {
      throw isDiskFull(error) ? diskFull(error) : error
    } finally {
      const left = (this.#receiving.get(userUuid) ?? 0) - block.size
      if (left > 0) this.#receiving.set(userUuid, left)
      else this.#receiving.delete(userUuid)
    }
  }

  /** Removes those blocks of a user that the function chooses by their hashes. */
  async remove(
    userUuid: string,
    choose: (hashes: Iterable<string>) => Promise<Iterable<string>> | Iterable<string>,
  ): Promise<void> {
    const sizes = await this.#sizesOf(userUuid)
    await this.#lock.run([userUuid], async () => {
      if (sizes.size === 0) return
      const removed = [...(await choose(sizes.keys()))].filter((sha256) => sizes.delete(sha256))
      for (const sha256 of removed) {
        await rm(this.fileOf(userUuid, sha256), { force: true })
        this.#setRoom(userUuid, sha256, null)
      }
    })
  }

  /**
   * Runs a step that makes a file of blocks. The file gets their room, so that it needs none beside them.
   *
   * @param hashes those of the blocks
   */
  async lendRoom<T>(
    userUuid: string,
    hashes: Iterable<string>,
    step: (room: FileRoom) => Promise<T>,
  ): Promise<T> {
    const lent = [...hashes]
    const rooms = lent.flatMap((sha256) => this.#rooms.get(this.fileOf(userUuid, sha256)) ?? [])
    const room = this.#files.holdRoom(
      { uuid: userUuid },
      rooms.reduce((sum, { bytes }) => sum + bytes, 0),
    )
    for (const each of rooms) each.release()
    try {
      return await step(room)
    } finally {
      const sizes = await this.#sizesOf(userUuid)
      room.release()
      // Those that are still there may be of other uploads, too.
      for (const sha256 of lent) {
        const size = sizes.get(sha256)
        if (size !== undefined)
          this.#setRoom(userUuid, sha256, this.#files.holdRoom({ uuid: userUuid }, size))
      }
    }
  }

  #setRoom(userUuid: string, sha256: string, room: FileRoom | null): void {
    const file = this.fileOf(userUuid, sha256)
    this.#rooms.get(file)?.release()
    if (room === null) this.#rooms.delete(file)
    else this.#rooms.set(file, room)
  }

  /** The users who have a folder. */
  async users(): Promise<string[]> {
    return readdir(this.#folder).catch(() => [])
  }

  async erase(userUuid: string): Promise<void> {
    for (const sha256 of (await this.#sizes.get(userUuid))?.keys() ?? [])
      this.#setRoom(userUuid, sha256, null)
    this.#sizes.delete(userUuid)
    await rm(join(this.#folder, userUuid), { recursive: true, force: true })
  }

  async #receive(
    userUuid: string,
    block: Block,
    content: AsyncIterable<Uint8Array>,
    sizes: Map<string, number>,
  ): Promise<void> {
    const folder = join(this.#folder, userUuid)
    const part = join(folder, `${block.sha256}.${randomUUID()}`)
    const file = await open(part, 'wx', 0o600)
    try {
      const hash = createHash('sha256')
      let size = 0
      for await (const bytes of content) {
        size += bytes.length
        if (size > block.size) break
        hash.update(bytes)
        await file.write(bytes)
      }
      await file.close()
      if (size !== block.size || hash.digest('hex') !== block.sha256) {
        throw new NodekeepError(
          'VALIDATION_ERROR',
          'The bytes are not those of the block: size or SHA-256 differ. Send the block again.',
        )
      }
      await this.#lock.run([userUuid], async () => {
        await rename(part, this.fileOf(userUuid, block.sha256))
        sizes.set(block.sha256, block.size)
      })
    } catch (error) {
      await file.close()
      await rm(part, { force: true })
      throw error
    }
  }

  #sizesOf(userUuid: string): Promise<Map<string, number>> {
    const known = this.#sizes.get(userUuid)
    if (known !== undefined) return known
    const sizes = this.#read(userUuid)
    this.#sizes.set(userUuid, sizes)
    sizes.catch(() => this.#sizes.delete(userUuid))
    return sizes
  }

  /** Reads the folder of a user, and removes parts of blocks, which the last run left there. */
  async #read(userUuid: string): Promise<Map<string, number>> {
    const folder = join(this.#folder, userUuid)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const sizes = new Map<string, number>()
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      if (isHash.test(name)) {
        const { size } = await stat(path)
        sizes.set(name, size)
        this.#setRoom(userUuid, name, this.#files.holdRoom({ uuid: userUuid }, size))
      } else await rm(path, { force: true })
    }
    return sizes
  }
}

function tooManyBytes(most: number): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `Your unfinished uploads have too many bytes: the limit is ${most} (file-sync.stagedBytesPerUser). Finish or delete some.`,
  )
}

function diskFull(cause: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk of the node is full. Delete files that are no longer needed.',
    { cause },
  )
}
