import { setImmediate } from 'node:timers/promises'
import {
  type AuthenticatedUser,
  type FilesService,
  isNodekeepError,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { Block } from '../../protocol/content-blocks.ts'
import type { ContentIndex, ContentPlace } from '../content/content-index.ts'
import type { StagedBlocks } from './staged-blocks.ts'

/** Blocks that are searched before other work of the process has its turn. */
const blocksAtOnce = 500

/** Where the bytes of a block are: in a staged file, or in a file of the user. */
export type BlockSource = { readonly staged: string } | ContentPlace

/** Finds blocks that the node has already. It searches only the user's own files and uploads. */
export class BlockSources {
  readonly #files: FilesService
  readonly #index: ContentIndex
  readonly #staged: StagedBlocks

  constructor(files: FilesService, index: ContentIndex, staged: StagedBlocks) {
    this.#files = files
    this.#index = index
    this.#staged = staged
  }

  /**
   * The sources of blocks, by their hashes. Blocks without a source are missing.
   *
   * An API token that may not read files gets no block of them: by asking for hashes, it could find out what is in them.
   */
  async find(
    { uuid: userUuid, scopes }: AuthenticatedUser,
    blocks: readonly Block[],
  ): Promise<ReadonlyMap<string, BlockSource>> {
    const mayRead = scopes === null || scopes.includes('files:read')
    const sizes = await this.#staged.of(userUuid)
    const revisions = new Revisions(this.#files.for({ uuid: userUuid }))
    const found = new Map<string, BlockSource>()
    let next: ContentPlace | null = null
    for (const [number, block] of blocks.entries()) {
      if (number % blocksAtOnce === blocksAtOnce - 1) await setImmediate()
      if (found.has(block.sha256)) continue
      if (sizes.get(block.sha256) === block.size) {
        found.set(block.sha256, { staged: this.#staged.fileOf(userUuid, block.sha256) })
        continue
      }
      if (!mayRead) continue
      const place = await this.#placeOf(userUuid, block, revisions, next)
      if (place !== null) found.set(block.sha256, place)
      next = place === null ? null : { ...place, start: place.start + block.size }
    }
    return found
  }

  /** @param next the place after the block before, which is the fastest one to read */
  async #placeOf(
    userUuid: string,
    block: Block,
    revisions: Revisions,
    next: ContentPlace | null,
  ): Promise<ContentPlace | null> {
    const places = this.#index.placesOf(userUuid, block)
    const isNext = ({ path, start }: ContentPlace) => path === next?.path && start === next.start
    for (const place of [...places.filter(isNext), ...places]) {
      const revision = await revisions.of(place.path)
      if (revision === place.revision) return place
      // Revisions never come back.
      if (revision !== undefined) this.#index.forget(userUuid, place.path)
    }
    return null
  }
}

/** The present revisions of files. Each is asked for once. */
class Revisions {
  readonly #files: UserFiles
  readonly #known = new Map<string, string | null | undefined>()

  constructor(files: UserFiles) {
    this.#files = files
  }

  /** The revision at a path; null if no file is there, undefined if its mount does not answer. */
  async of(path: string): Promise<string | null | undefined> {
    if (!this.#known.has(path)) this.#known.set(path, await this.#revisionAt(path))
    return this.#known.get(path)
  }

  async #revisionAt(path: string): Promise<string | null | undefined> {
    try {
      const { type, revision } = await this.#files.stat(path)
      return type === 'file' ? revision : null
    } catch (error) {
      return isNodekeepError(error) && error.code === 'NOT_FOUND' ? null : undefined
    }
  }
}
