import {
  type ChangeLog,
  type ChangePosition,
  concurrently,
  conflict,
  FairSlots,
  type FilesService,
  isNodekeepError,
  type Log,
  NodekeepError,
  untilAborted,
} from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import type { LazyStore } from '../store/lazy-store.ts'
import type { Store } from '../store/store.ts'
import { changeIn } from './folder-changes.ts'
import type { ImportedTree, TreeLimits } from './import-tree.ts'
import {
  blocksAtOnce,
  type Publication,
  type PublicationDraft,
  type Publications,
  type PublishedBlock,
} from './publications.ts'

/** Trees of all users that are added at a time. */
const treesAtOnce = 2
/** Paths of a list that are looked up at a time. */
const lookupsAtOnce = 16
/** Milliseconds after which it is tried again, such as while a lost index is made again. */
const healAgainMs = 60_000
/** Publications of a user that are added, or wait for their turn. As many that have failed are kept. */
const mostAdding = 100

/** The state of a publication, for its user. */
type PublicationState = 'adding' | 'failed' | 'published' | 'changed' | 'gone' | 'missing'

/** A publication that is being added. */
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

/** A publication as its user sees it. */
export interface ListedPublication extends Omit<Publication, 'cid' | 'publishedAt'> {
  readonly state: PublicationState
  readonly cid: string | null
  readonly publishedAt: Date | null
  readonly addedBytes?: number
  readonly problem?: string
}

interface PublisherServices {
  readonly publications: Publications
  readonly store: LazyStore
  /** Undefined without the plugin `files`. */
  readonly files: FilesService | undefined
  readonly changes: ChangeLog | undefined
  readonly limits: TreeLimits
  readonly log: Log
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Publishes files and folders of users, and withdraws them. */
export class Publisher {
  readonly #services: PublisherServices
  readonly #slots = new FairSlots({ most: treesAtOnce, mostPerKey: 1 })
  readonly #adding = new Set<Adding>()
  #failed: readonly Failed[] = []
  /** Ids of publications that are compared with their paths. */
  readonly #comparing = new Set<string>()
  /** Work that nobody waits for. */
  readonly #background = new Set<Promise<void>>()

  constructor(services: PublisherServices) {
    this.#services = services
  }

  /**
   * Publishes a file or folder as it is now. A call for a path that is being published waits for the same end. The list tells it to
   * clients that have left.
   *
   * @throws NodekeepError of `UserFiles`; CONFLICT if it changes meanwhile, or is withdrawn; PAYLOAD_TOO_LARGE, VALIDATION_ERROR for
   *   the limits; INSUFFICIENT_STORAGE
   */
  async publish(userUuid: string, path: string): Promise<Publication> {
    const entry = await this.#files.for({ uuid: userUuid }).stat(path)
    return (this.#find(userUuid, entry.path) ?? this.#begin(userUuid, entry.path)).result
  }

  /** The publications of a user, those that are being added first, and the bytes that they take. */
  async list(userUuid: string): Promise<{ publications: ListedPublication[]; bytes: number }> {
    const { publications } = this.#services
    const roots = await this.#roots()
    const published = publications.list(userUuid)
    const states = new Map<string, PublicationState>()
    await concurrently(published, lookupsAtOnce, async (publication) => {
      const isThere = roots.get(publication.id) === publication.cid
      states.set(publication.id, isThere ? await this.#compare(publication) : 'missing')
    })
    const adding = [...this.#adding].filter((other) => other.userUuid === userUuid)
    return {
      publications: [
        ...adding.map(({ bytes, ...of }) => ({
          ...unpublished(of),
          state: 'adding' as const,
          addedBytes: bytes,
        })),
        ...this.#failed
          .filter((other) => other.userUuid === userUuid)
          .map(({ problem, ...of }) => ({ ...unpublished(of), state: 'failed' as const, problem })),
        ...published.map((each) => ({ ...each, state: states.get(each.id) ?? 'published' })),
      ],
      bytes: publications.bytesOf(userUuid),
    }
  }

  /**
   * Withdraws a publication, ends one that is being added, or forgets one that has failed. Nobody can begin to read it any more when this resolves.
   *
   * @throws NodekeepError NOT_FOUND if the user has no such publication
   */
  async withdraw(
    userUuid: string,
    id: string,
  ): Promise<{ readonly path: string; readonly cid: string | null }> {
    const { publications } = this.#services
    const adding = [...this.#adding].find((other) => other.id === id && other.userUuid === userUuid)
    if (adding !== undefined) {
      adding.abort(conflict('It was withdrawn before all of it was published.'))
      await adding.result.catch(() => {})
    }
    const publication = publications.get(userUuid, id)
    if (publication !== null) {
      publications.withdraw(userUuid, id)
      this.#inBackground(() => this.#remove(id))
      return publication
    }
    const failed = this.#failed.find((other) => other.id === id && other.userUuid === userUuid)
    this.#failed = this.#failed.filter((other) => other !== failed)
    const ended = adding ?? failed
    if (ended !== undefined) return { path: ended.path, cid: null }
    throw new NodekeepError('NOT_FOUND', 'You have no such publication. It may have been withdrawn.')
  }

  /**
   * Removes all publications of a user, and all bytes that nothing needs any more, also those of files on the backend that are removed
   * already.
   *
   * @throws the reason of the signal
   */
  async erase(userUuid: string, signal: AbortSignal): Promise<void> {
    const { publications, store } = this.#services
    if (publications.isUsed) {
      for (const adding of this.#adding) {
        if (adding.userUuid !== userUuid) continue
        adding.abort(conflict('The user is deleted.'))
        await adding.result.catch(() => {})
      }
      this.#failed = this.#failed.filter((other) => other.userUuid !== userUuid)
      publications.withdrawAll(userUuid)
      for (const id of publications.hidden(userUuid)) await this.#remove(id)
    }
    if (store.isUsed) await untilAborted((await store.open()).compact(), signal)
  }

  /**
   * Makes publications and the store one again after a crash, or after a restore: removes what is in one of them only, and adds what
   * the store lacks from the paths, in the background.
   */
  heal(): void {
    const { publications, store, log, signal } = this.#services
    if (publications.isUsed || store.isUsed)
      this.#inBackground(() =>
        this.#heal().catch((error) => {
          if (signal.aborted) return
          log.warn({ err: error }, 'Publications could not be compared with the store. The node tries again.')
          setTimeout(() => signal.aborted || this.heal(), healAgainMs).unref()
        }),
      )
  }

  async close(): Promise<void> {
    const { signal } = this.#services
    for (const { abort } of this.#adding) abort(signal.reason)
    await Promise.allSettled(Array.from(this.#adding, ({ result }) => result))
    await Promise.all(this.#background)
  }

  get #files(): FilesService {
    const { files } = this.#services
    if (files !== undefined) return files
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The plugin "files" is not loaded: there is nothing to publish.',
    )
  }

  #find(userUuid: string, path: string): Adding | undefined {
    return [...this.#adding].find((other) => other.userUuid === userUuid && other.path === path)
  }

  #begin(userUuid: string, path: string): Adding {
    const { publications, signal } = this.#services
    signal.throwIfAborted()
    if ([...this.#adding].filter((other) => other.userUuid === userUuid).length >= mostAdding)
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
      result: this.#slots
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
    const { publications } = this.#services
    const { userUuid, path } = adding
    try {
      signal.throwIfAborted()
      const store = await this.#services.store.open()
      let blocks: PublishedBlock[] = []
      const position = await this.#position(userUuid)
      const publication = await this.#import(store, userUuid, path, {
        signal,
        onBytes: (bytes) => {
          adding.bytes += bytes
        },
        onBlock(block) {
          blocks.push(block)
          if (blocks.length < blocksAtOnce) return
          publications.addBlocks(draft, blocks)
          blocks = []
        },
        async onTree(tree) {
          publications.addBlocks(draft, blocks)
          const { size, files, revision } = tree
          const unchangedUntil = revision === null ? position : null
          const content = { userUuid, path, revision, unchangedUntil, cid: String(tree.cid), size, files }
          for (;;) {
            const same = publications.same(userUuid, path, content.cid)
            await setRoot(store, same?.id ?? draft.id, tree.cid)
            signal.throwIfAborted()
            if (same === null) return publications.publish(draft, content)
            // It may be withdrawn by now.
            if (!publications.has(same.id)) continue
            publications.compare(same, content)
            return { ...same, revision, unchangedUntil }
          }
        },
      })
      if (publication.id !== draft.id) this.#inBackground(() => this.#remove(draft.id))
      return publication
    } catch (error) {
      this.#inBackground(() => this.#remove(draft.id))
      throw error
    }
  }

  async #import<T>(
    store: Store,
    userUuid: string,
    path: string,
    { onTree, ...options }: ImportCalls<T>,
  ): Promise<T> {
    const { importTree } = await import('./import-tree.ts')
    const session = store.session()
    try {
      const files = this.#files.for({ uuid: userUuid })
      return await onTree(await importTree(path, { ...this.#services.limits, ...options, files, session }))
    } finally {
      session.end()
    }
  }

  /** The position from which on the journal tells whether a folder has changed. */
  async #position(userUuid: string): Promise<ChangePosition | null> {
    const { changes } = this.#services
    await changes?.follow(userUuid)
    return (await changes?.head(userUuid)) ?? null
  }

  /** Whether the path of a publication has what was published. */
  async #compare(publication: Publication): Promise<PublicationState> {
    const { files, changes, publications } = this.#services
    const { userUuid, path, revision, unchangedUntil } = publication
    if (files === undefined || changes === undefined) return 'published'
    try {
      const entry = await files.for({ uuid: userUuid }).stat(path)
      if (revision !== null) return entry.revision === revision ? 'published' : 'changed'
      if (unchangedUntil === null || entry.type === 'file') return 'changed'
      const change = await changeIn(changes, userUuid, path, unchangedUntil)
      if (change === null) this.#compareAgain(publication)
      else if (change.isChanged || change.position.seq > unchangedUntil.seq)
        publications.compare(publication, {
          revision: null,
          unchangedUntil: change.isChanged ? null : change.position,
        })
      return change?.isChanged === true ? 'changed' : 'published'
    } catch (error) {
      if (isNodekeepError(error) && error.code === 'NOT_FOUND') return 'gone'
      // The storage does not answer now, so this is not known.
      if (isNodekeepError(error) && error.code === 'SERVICE_UNAVAILABLE') return 'published'
      throw error
    }
  }

  /** Adds what is at the path of a publication. If it is the same content, the publication has all its blocks again. */
  #compareAgain(publication: Publication): void {
    const { id, userUuid, path, cid } = publication
    const { publications, store: lazy, log, signal } = this.#services
    if (this.#comparing.has(id)) return
    this.#comparing.add(id)
    this.#inBackground(() =>
      this.#slots
        .run(userUuid, async () => {
          signal.throwIfAborted()
          const store = await lazy.open()
          const position = await this.#position(userUuid)
          await this.#import(store, userUuid, path, {
            signal,
            onBytes() {},
            onBlock() {},
            async onTree({ cid: found, revision }) {
              const isSame = String(found) === cid
              if (publications.get(userUuid, id) === null) return
              if (isSame) await setRoot(store, id, found)
              if (isSame)
                publications.compare(publication, {
                  revision,
                  unchangedUntil: revision === null ? position : null,
                })
              else if (publication.revision === null)
                publications.compare(publication, { revision: null, unchangedUntil: null })
              if (publications.get(userUuid, id) === null) await setRoot(store, id, null)
            },
          })
        })
        .catch((error) => {
          if (!signal.aborted)
            log.info({ err: error, path }, 'A publication cannot be compared with its path now.')
        })
        .finally(() => this.#comparing.delete(id)),
    )
  }

  /** Removes what is left of a publication that is not visible. */
  async #remove(id: string): Promise<void> {
    const { publications, store } = this.#services
    if (store.isUsed) await setRoot(await store.open(), id, null)
    await publications.remove(id)
  }

  async #heal(): Promise<void> {
    const { publications, store: lazy, signal } = this.#services
    const isAdding = (id: string) => [...this.#adding].some((adding) => adding.id === id)
    if (publications.isUsed) {
      const left = publications.hidden(null).filter((id) => !isAdding(id))
      for (const id of left) await this.#remove(id)
    }
    const roots = await this.#roots()
    for (const id of roots.keys())
      if (!publications.has(id) && !isAdding(id)) await setRoot(await lazy.open(), id, null)
    for (const publication of publications.isUsed ? publications.all() : []) {
      signal.throwIfAborted()
      if (roots.get(publication.id) === publication.cid || (await this.#keep(publication))) continue
      this.#compareAgain(publication)
    }
  }

  /** Lets a publication keep its blocks, if the store has them. */
  async #keep({ id, userUuid, cid }: Publication): Promise<boolean> {
    const { publications, store: lazy } = this.#services
    if (!lazy.isUsed) return false
    const { CID } = await import('multiformats/cid')
    const store = await lazy.open()
    const session = store.session()
    try {
      const root = CID.parse(cid)
      await session.hold(root)
      await setRoot(store, id, root)
      if (publications.get(userUuid, id) === null) await setRoot(store, id, null)
      return true
    } catch (error) {
      if (isNodekeepError(error) && error.code === 'NOT_FOUND') return false
      throw error
    } finally {
      session.end()
    }
  }

  /** The roots of publications that the store has, by id. */
  async #roots(): Promise<ReadonlyMap<string, string>> {
    const { store } = this.#services
    if (!store.isUsed) return new Map()
    const { view } = await store.open()
    const { CID } = await import('multiformats/cid')
    const select = `SELECT holder, cid FROM root WHERE holder >= ? AND holder < ?`
    const rows = view.connection.prepare(select).all(holderOf(''), 'publication;')
    return new Map(
      rows.map(({ holder, cid }) => [
        String(holder).slice(holderOf('').length),
        String(CID.decode(cid as Uint8Array)),
      ]),
    )
  }

  #inBackground(work: () => Promise<void>): void {
    const { log, signal } = this.#services
    const running = work()
      .catch((error) => {
        if (!signal.aborted) log.warn({ err: error }, 'Publications are brought in order at the next start.')
      })
      .finally(() => this.#background.delete(running))
    this.#background.add(running)
  }
}

interface ImportCalls<T> {
  readonly signal: AbortSignal
  readonly onBytes: (bytes: number) => void
  readonly onBlock: (block: PublishedBlock) => void
  /** Called with the tree while its blocks are held. */
  readonly onTree: (tree: ImportedTree) => Promise<T>
}

function holderOf(id: string): string {
  return `publication:${id}`
}

function setRoot(store: Store, id: string, cid: CID | null): Promise<void> {
  return store.change([{ kind: 'root', holder: holderOf(id), cid: cid?.bytes ?? null }])
}

function unpublished({ id, userUuid, path }: Pick<Publication, 'id' | 'userUuid' | 'path'>) {
  const none = { revision: null, unchangedUntil: null, cid: null, publishedAt: null }
  return { ...none, id, userUuid, path, size: 0, files: 0 }
}
