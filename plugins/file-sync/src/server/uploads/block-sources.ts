import { setImmediate } from 'node:timers/promises'
import {
  type AuthenticatedUser,
  type FileIndex,
  type FilesService,
  isNodekeepError,
  type UserFileIndex,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { Block, Content } from '../../protocol/content-blocks.ts'
import type { KnownBlocks } from '../content/known-blocks.ts'
import type { StagedBlocks } from './staged-blocks.ts'

/** Blocks that are searched before other work of the process has its turn. */
const blocksAtOnce = 100

/** Damaged files that are left out at a time. With more, the oldest one is tried again. */
const mostDamaged = 10_000

/** A place in a file of the user. */
interface FilePlace {
  readonly path: string
  readonly revision: string
  /** The content of the file, as far as the index knows. */
  readonly content: Omit<Content, 'blocks'>
  /** The first byte. */
  readonly start: number
}

/** Where the bytes of a block are: in a staged file, or in a file of the user. */
export type BlockSource = { readonly staged: string } | FilePlace

interface BlockSourcesServices {
  readonly files: FilesService
  readonly index: FileIndex
  readonly blocks: KnownBlocks
  readonly staged: StagedBlocks
}

/** Finds blocks that the node has already. It searches only the user's own files and uploads. */
export class BlockSources {
  readonly #services: BlockSourcesServices
  /** Files that have other bytes than the index knows, by user, path and revision. */
  readonly #damaged = new Set<string>()

  constructor(services: BlockSourcesServices) {
    this.#services = services
  }

  /** Leaves out a file from now on, as long as it has this revision: it has other bytes than the index knows. */
  leaveOut(userUuid: string, place: FilePlace): void {
    const [oldest] = this.#damaged
    if (this.#damaged.size >= mostDamaged && oldest !== undefined) this.#damaged.delete(oldest)
    this.#damaged.add(keyOf(userUuid, place))
  }

  /**
   * The sources of the blocks of a content, by their hashes. Blocks without a source are missing.
   *
   * An API token that may not read files gets no block of them: by asking for hashes, it could find out what is in them.
   */
  async find(
    { uuid: userUuid, scopes }: AuthenticatedUser,
    content: Content,
  ): Promise<ReadonlyMap<string, BlockSource>> {
    const { files, index, blocks, staged } = this.#services
    const mayRead = scopes === null || scopes.includes('files:read')
    const sizes = await staged.of(userUuid)
    const isSound = (place: FilePlace) => !this.#damaged.has(keyOf(userUuid, place))
    const own = new OwnFiles(files.for({ uuid: userUuid }), index.for({ uuid: userUuid }), isSound)
    // The blocks of a file with the whole content need not be known: they are where the client says, or the whole is not what it says.
    const whole = mayRead ? ((await own.placesOf(content))[0] ?? null) : null
    const found = new Map<string, BlockSource>()
    let next: FilePlace | null = null
    let start = 0
    for (const [number, block] of content.blocks.entries()) {
      if (number % blocksAtOnce === blocksAtOnce - 1) await setImmediate()
      const at = start
      start += block.size
      if (found.has(block.sha256)) continue
      if (sizes.get(block.sha256) === block.size) {
        found.set(block.sha256, { staged: staged.fileOf(userUuid, block.sha256) })
        continue
      }
      if (!mayRead) continue
      const place: FilePlace | null =
        whole === null
          ? await own.placeOf(block, blocks.placesOf(userUuid, block), next)
          : { ...whole, start: at }
      if (place !== null) found.set(block.sha256, place)
      next = place === null ? null : { ...place, start: place.start + block.size }
    }
    return found
  }
}

/** Files of the user that have a content now. Each content and each file is asked for once. */
class OwnFiles {
  readonly #files: UserFiles
  readonly #index: UserFileIndex
  readonly #isSound: (place: FilePlace) => boolean
  readonly #places = new Map<string, readonly FilePlace[]>()
  readonly #revisions = new Map<string, string | null>()

  constructor(files: UserFiles, index: UserFileIndex, isSound: (place: FilePlace) => boolean) {
    this.#files = files
    this.#index = index
    this.#isSound = isSound
  }

  /** The files that have a content, from their first byte on. */
  async placesOf({ sha256, size }: Omit<Content, 'blocks'>): Promise<readonly FilePlace[]> {
    const places = await this.#withContent(sha256)
    return places.filter(({ content }) => content.size === size)
  }

  /**
   * A place of a block.
   *
   * @param within the contents that have the block, and where
   * @param next the place after the block before, which is the fastest one to read
   */
  async placeOf(
    block: Block,
    within: readonly { readonly sha256: string; readonly start: number }[],
    next: FilePlace | null,
  ): Promise<FilePlace | null> {
    let first = (await this.placesOf(block))[0] ?? null
    for (const { sha256, start } of within) {
      for (const file of await this.#withContent(sha256)) {
        const place = { ...file, start }
        if (place.path === next?.path && start === next.start) return place
        first ??= place
      }
    }
    return first
  }

  async #withContent(sha256: string): Promise<readonly FilePlace[]> {
    const known = this.#places.get(sha256)
    if (known !== undefined) return known
    const places: FilePlace[] = []
    for (const { path, revision, size } of await this.#index.withContent(sha256)) {
      if (revision === null || revision !== (await this.#revisionAt(path))) continue
      const place = { path, revision, content: { sha256, size }, start: 0 }
      if (this.#isSound(place)) places.push(place)
    }
    this.#places.set(sha256, places)
    return places
  }

  /** The present revision at a path; null if no file is there, or its mount does not answer. */
  async #revisionAt(path: string): Promise<string | null> {
    const known = this.#revisions.get(path)
    if (known !== undefined) return known
    const entry = await this.#files.stat(path).catch(nullIfUnreachable)
    const revision = entry?.type === 'file' ? entry.revision : null
    this.#revisions.set(path, revision)
    return revision
  }
}

function keyOf(userUuid: string, { path, revision }: FilePlace): string {
  return `${userUuid} ${revision} ${path}`
}

function nullIfUnreachable(error: unknown): null {
  if (isNodekeepError(error)) return null
  throw error
}
