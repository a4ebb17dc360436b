import { conflict, type FairSlots, isNodekeepError, type Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { BackgroundWork } from './background-work.ts'
import { type ImportServices, importPath } from './import-path.ts'
import type { TreeLimits } from './import-tree.ts'
import { removePublication, setPublicationRoot } from './publication-roots.ts'
import {
  blocksAtOnce,
  type ListedPublication,
  type Publication,
  type PublicationDraft,
  type Publications,
  type PublishedBlock,
} from './publications.ts'

/** Publications of a user that are added, or wait for their turn. As many that have failed are kept. */
const mostAdding = 100

/** A publication that is being added, or waits for its turn. */
interface Adding {
  readonly id: string
  readonly userUuid: string
  readonly path: string
  readonly abort: (reason: unknown) => void
  readonly result: Promise<Publication>
  /** Bytes of content that were read. */
  bytes: number
}

/** A publication that could not be added. It is in memory only. */
interface Failed {
  readonly id: string
  readonly userUuid: string
  readonly path: string
  /** For its user. */
  readonly problem: string
}

/** Bounds of what is published. */
export interface PublishingLimits extends TreeLimits {
  /** Of a user. */
  readonly maxPublications: number
}

interface AdditionsServices extends ImportServices {
  readonly limits: PublishingLimits
  readonly publications: Publications
  readonly slots: FairSlots
  readonly background: BackgroundWork
  readonly log: Log
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** The publications that are being added, and those that have failed. */
export class Additions {
  readonly #services: AdditionsServices
  readonly #adding = new Set<Adding>()
  #failed: readonly Failed[] = []

  constructor(services: AdditionsServices) {
    this.#services = services
  }

  /**
   * Adds a publication of a path as it is now. A call for a path that is being added waits for the same end.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS; errors of the import; CONFLICT if it is withdrawn, or if the user has as many as allowed
   */
  async add(userUuid: string, path: string): Promise<Publication> {
    const same = this.#addingOf(userUuid).find((other) => other.path === path)
    return (same ?? this.#begin(userUuid, path)).result
  }

  /** Whether a publication is being added. */
  has(id: string): boolean {
    return [...this.#adding].some((adding) => adding.id === id)
  }

  /** Those of a user that are being added, then those that have failed. */
  list(userUuid: string): ListedPublication[] {
    const none = { revision: null, cid: null, publishedAt: null, size: 0, files: 0 }
    return [
      ...this.#addingOf(userUuid).map(({ id, path, bytes }) => ({
        ...none,
        id,
        path,
        state: 'adding' as const,
        addedBytes: bytes,
      })),
      ...this.#failed
        .filter((failed) => failed.userUuid === userUuid)
        .map(({ id, path, problem }) => ({ ...none, id, path, state: 'failed' as const, problem })),
    ]
  }

  /**
   * Ends one that is being added, unless it is published at the same time, or forgets one that has failed.
   *
   * @returns its path; null if the user has no such one
   */
  async end(userUuid: string, id: string): Promise<string | null> {
    const adding = this.#addingOf(userUuid).find((other) => other.id === id)
    const failed = this.#failed.find((other) => other.id === id && other.userUuid === userUuid)
    this.#failed = this.#failed.filter((other) => other !== failed)
    if (adding === undefined) return failed?.path ?? null
    adding.abort(conflict('It was withdrawn before all of it was published.'))
    await adding.result.catch(() => {})
    return adding.path
  }

  /** Ends and forgets all of a user. */
  async endAll(userUuid: string): Promise<void> {
    for (const adding of this.#adding) {
      if (adding.userUuid !== userUuid) continue
      adding.abort(conflict('The user is deleted.'))
      await adding.result.catch(() => {})
    }
    this.#failed = this.#failed.filter((other) => other.userUuid !== userUuid)
  }

  async close(): Promise<void> {
    for (const { abort } of this.#adding) abort(this.#services.signal.reason)
    await Promise.allSettled(Array.from(this.#adding, ({ result }) => result))
  }

  #addingOf(userUuid: string): Adding[] {
    return [...this.#adding].filter((adding) => adding.userUuid === userUuid)
  }

  #begin(userUuid: string, path: string): Adding {
    const { publications, limits, signal, slots } = this.#services
    const { maxPublications } = limits
    const running = this.#addingOf(userUuid).length
    signal.throwIfAborted()
    if (running + publications.count(userUuid) >= maxPublications)
      throw conflict(`You have the ${maxPublications} publications that are allowed. Withdraw one first.`)
    if (running >= mostAdding)
      throw new NodekeepError(
        'TOO_MANY_REQUESTS',
        'You are publishing too much at a time. Wait until some of it is published.',
        { headers: { 'retry-after': '5' } },
      )
    const controller = new AbortController()
    this.#failed = this.#failed.filter((other) => other.userUuid !== userUuid || other.path !== path)
    const draft = publications.begin(userUuid, path)
    const adding: Adding = {
      id: draft.id,
      userUuid,
      path,
      bytes: 0,
      abort: (reason) => controller.abort(reason),
      result: slots
        .run(userUuid, () => this.#add(draft, adding, controller.signal))
        .finally(() => this.#adding.delete(adding)),
    }
    this.#adding.add(adding)
    adding.result.catch((error: unknown) => {
      if (!controller.signal.aborted) this.#keepFailure(adding, error)
    })
    return adding
  }

  #keepFailure({ id, userUuid, path }: Adding, error: unknown): void {
    const { log } = this.#services
    if (!isNodekeepError(error)) log.error({ err: error, path }, 'A file or folder could not be published.')
    const problem = isNodekeepError(error) ? error.message : 'Something went wrong. Try again.'
    const isOfUser = (failed: Failed) => failed.userUuid === userUuid
    const kept = this.#failed.filter(isOfUser).slice(0, mostAdding - 1)
    this.#failed = [
      { id, userUuid, path, problem },
      ...kept,
      ...this.#failed.filter((other) => !isOfUser(other)),
    ]
  }

  async #add(draft: PublicationDraft, adding: Adding, signal: AbortSignal): Promise<Publication> {
    const { publications, store, background } = this.#services
    const remove = () => background.run(() => removePublication(publications, store, draft.id))
    try {
      signal.throwIfAborted()
      const publication = await this.#import(draft, adding, signal)
      if (publication.id !== draft.id) remove()
      return publication
    } catch (error) {
      remove()
      throw error
    }
  }

  async #import(draft: PublicationDraft, adding: Adding, signal: AbortSignal): Promise<Publication> {
    const { publications } = this.#services
    const { userUuid, path } = adding
    let blocks: PublishedBlock[] = []
    const options = {
      userUuid,
      path,
      signal,
      onBytes(bytes: number) {
        adding.bytes += bytes
      },
      onBlock(block: PublishedBlock) {
        blocks.push(block)
        if (blocks.length < blocksAtOnce) return
        publications.addBlocks(draft, blocks)
        blocks = []
      },
    }
    return importPath(this.#services, options, async (imported, store) => {
      publications.addBlocks(draft, blocks)
      const cid = String(imported.cid)
      for (;;) {
        const same = publications.same(userUuid, path, cid)
        await setPublicationRoot(store, same?.id ?? draft.id, imported.cid)
        signal.throwIfAborted()
        if (same === null) return publications.publish(draft, { ...imported, userUuid, path, cid })
        // It may be withdrawn by now.
        if (!publications.has(same.id)) continue
        publications.recordComparison(same, imported)
        const { revision, unchangedUntil } = imported
        return { ...same, revision, unchangedUntil }
      }
    })
  }
}
