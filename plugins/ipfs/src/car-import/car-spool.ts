import { randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { asyncIterableReader, createDecoder } from '@ipld/car/decoder'
import * as dagPb from '@ipld/dag-pb'
import { invalid, isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import type { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { identity } from 'multiformats/hashes/identity'
import { isBlockOf } from '../store/block-hash.ts'
import { keyOf } from '../store/links.ts'
import { mostBlockBytes } from '../store/pack-format.ts'
import { tooManyBytes } from './too-many-bytes.ts'

/** Blocks of a CAR, also those that come more than once. */
const mostBlocks = 250_000

/** Small blocks in memory: in a tree that repeats, most links lead to the same few blocks. */
const mostCached = 64
const mostCachedBytes = 64 * 1024

/** Blocks that are verified before others get their turn. */
const blocksInARow = 128

type BytesReader = Parameters<typeof createDecoder>[0]

interface CarSpoolOptions {
  /** A folder of the node. The spool is a folder in it. */
  readonly folder: string
  readonly maxBytes: number
}

/** A CAR in a private file, of which each block is verified, and an index of its blocks beside it. */
export class CarSpool {
  /** The block from which the others are reached. */
  readonly root: CID
  /** The number of blocks, and the bytes of all. */
  readonly blocks: number
  readonly bytes: number
  /** The index. It has room for what an import notes. */
  readonly index: DatabaseSync
  readonly #folder: string
  readonly #file: FileHandle
  readonly #find
  /** The least recently used first. */
  readonly #cache = new Map<string, Uint8Array>()

  private constructor(
    folder: string,
    file: FileHandle,
    index: DatabaseSync,
    { root, blocks, bytes }: Pick<CarSpool, 'root' | 'blocks' | 'bytes'>,
  ) {
    this.#folder = folder
    this.#file = file
    this.index = index
    this.root = root
    this.blocks = blocks
    this.bytes = bytes
    this.#find = index.prepare('SELECT position, length FROM block WHERE cid = ?')
  }

  /**
   * Spools a CAR of version 1 or 2 (https://ipld.io/specs/transport/car/), and verifies each block while it arrives. Nothing stays if
   * that fails.
   *
   * @throws NodekeepError VALIDATION_ERROR, PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE; the error of the content
   */
  static async receive(content: AsyncIterable<Uint8Array>, options: CarSpoolOptions): Promise<CarSpool> {
    const folder = join(options.folder, randomUUID())
    await mkdir(folder, { recursive: true, mode: 0o700 })
    let file: FileHandle | undefined
    let index: DatabaseSync | undefined
    try {
      file = await open(join(folder, 'blocks.car'), 'wx+', 0o600)
      index = openIndex(join(folder, 'index.sqlite'))
      const car = await readCar(spooled(content, file, options.maxBytes), index)
      return new CarSpool(folder, file, index, car)
    } catch (error) {
      await remove(folder, file, index)
      throw isDiskFull(error) ? noRoom(error) : error
    }
  }

  /** @throws NodekeepError VALIDATION_ERROR if the CAR does not have the block */
  async get(cid: CID): Promise<Uint8Array> {
    if (cid.multihash.code === identity.code) return cid.multihash.digest
    const key = String(cid)
    const bytes = this.#cache.get(key) ?? (await this.#read(cid))
    if (bytes.length > mostCachedBytes) return bytes
    this.#cache.delete(key)
    this.#cache.set(key, bytes)
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= mostCached) break
      this.#cache.delete(oldest)
    }
    return bytes
  }

  /** Removes everything. */
  async discard(): Promise<void> {
    await remove(this.#folder, this.#file, this.index)
  }

  async #read(cid: CID): Promise<Uint8Array> {
    const place = this.#find.get(keyOf(cid)) as { position: number; length: number } | undefined
    if (place === undefined) throw invalid(`The CAR does not have the block ${cid}.`)
    const bytes = new Uint8Array(place.length)
    const { bytesRead } = await this.#file.read(bytes, 0, place.length, place.position)
    if (bytesRead < place.length) throw new Error('The spool of a CAR was cut.')
    return bytes
  }
}

function openIndex(path: string): DatabaseSync {
  const index = new DatabaseSync(path)
  // It is removed with the spool, so that a crash may damage it.
  index.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE')
  index.exec(
    'CREATE TABLE block (cid BLOB PRIMARY KEY, position INTEGER NOT NULL, length INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  )
  return index
}

async function remove(
  folder: string,
  file: FileHandle | undefined,
  index: DatabaseSync | undefined,
): Promise<void> {
  if (index?.isOpen) index.close()
  await file?.close()
  await rm(folder, { recursive: true, force: true })
}

/** An error of the content, which is not one of the CAR. */
class ContentError extends Error {}

/** Passes content on when it is in the file. */
async function* spooled(
  content: AsyncIterable<Uint8Array>,
  file: FileHandle,
  maxBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooManyBytes(maxBytes)
      await file.writeFile(chunk)
      yield chunk
    }
  } catch (cause) {
    throw new ContentError('The content of the CAR failed.', { cause })
  }
}

/** Verifies the blocks of a CAR and notes their places. */
async function readCar(
  content: AsyncIterable<Uint8Array>,
  index: DatabaseSync,
): Promise<Pick<CarSpool, 'root' | 'blocks' | 'bytes'>> {
  try {
    const reader = bounded(asyncIterableReader(content))
    const decoder = createDecoder(reader)
    const { roots } = await decoder.header()
    const [root] = roots
    if (root === undefined || roots.length > 1)
      throw invalid(`The CAR must have one root. It has ${roots.length}.`)
    const add = index.prepare('INSERT OR IGNORE INTO block VALUES (?, ?, ?)')
    index.exec('BEGIN')
    let blocks = 0
    let size = 0
    for await (const { cid, bytes } of decoder.blocks()) {
      blocks += 1
      size += bytes.length
      if (blocks > mostBlocks)
        throw new NodekeepError('PAYLOAD_TOO_LARGE', `A CAR may have at most ${mostBlocks} blocks.`)
      if (isVerified(cid, bytes)) add.run(keyOf(cid), reader.pos - bytes.length, bytes.length)
      // Tiny blocks come without any wait in between.
      if (blocks % blocksInARow === 0) await setImmediate()
    }
    index.exec('COMMIT')
    // Behind the blocks, version 2 has an index, which nobody needs. The client waits until it is read.
    for await (const _rest of content);
    return { root, blocks, bytes: size }
  } catch (error) {
    if (error instanceof ContentError) throw error.cause
    if (isNodekeepError(error) || isDiskFull(error)) throw error
    throw new NodekeepError('VALIDATION_ERROR', 'The file is not a CAR, or is damaged or cut short.', {
      cause: error,
    })
  }
}

/**
 * Whether a block goes into the index. A block with an identity hash is its own CID.
 *
 * @throws NodekeepError VALIDATION_ERROR if it is not what its CID says
 */
function isVerified(cid: CID, bytes: Uint8Array): boolean {
  if (cid.multihash.code === identity.code) {
    if (Buffer.compare(cid.multihash.digest, bytes) !== 0) throw notThat(cid)
    return false
  }
  if (cid.code !== raw.code && cid.code !== dagPb.code)
    throw invalid(
      `The block ${cid} has the codec 0x${cid.code.toString(16)}. Files and folders have the codecs raw and dag-pb.`,
    )
  if (!isBlockOf(cid.bytes, bytes)) throw notThat(cid)
  return true
}

function notThat(cid: CID): NodekeepError {
  return invalid(`The block ${cid} does not have the SHA-256 that its CID names.`)
}

/**
 * The library believes the lengths in a CAR: it would hold a section of any length in memory, and go back where the length of a
 * section is less than that of its CID.
 */
function bounded(reader: BytesReader): BytesReader {
  const refuseBack = (length: number) => {
    if (length < 0) throw invalid('The CAR has a section that is shorter than its CID.')
  }
  return {
    upTo: (length) => reader.upTo(length),
    async exactly(length, seek) {
      refuseBack(length)
      if (length > mostBlockBytes) throw invalid('The CAR has a block of more than 2 MiB.')
      return reader.exactly(length, seek)
    },
    seek(length) {
      refuseBack(length)
      reader.seek(length)
    },
    get pos() {
      return reader.pos
    },
  }
}

function noRoom(cause: unknown): NodekeepError {
  return new NodekeepError('INSUFFICIENT_STORAGE', 'The disk of the node is full.', { cause })
}
