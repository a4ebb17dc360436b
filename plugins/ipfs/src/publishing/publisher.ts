import {
  concurrently,
  FairSlots,
  isNodekeepError,
  type Log,
  NodekeepError,
  untilAborted,
} from '@nodekeep/plugin-sdk'
import { Additions, type PublishingLimits } from './additions.ts'
import { BackgroundWork } from './background-work.ts'
import { type ImportServices, requireFiles } from './import-path.ts'
import { PathComparison } from './path-comparison.ts'
import { publicationRoots, removePublication, setPublicationRoot } from './publication-roots.ts'
import type { ListedPublication, Publication, PublicationState, Publications } from './publications.ts'

/** Trees of all users that are added at a time. */
const treesAtOnce = 2
/** Paths of a list that are looked up at a time. */
const lookupsAtOnce = 16
/** Milliseconds after which publications and the store are compared again if that fails, such as while a lost index is made again. */
const reconcileAgainMs = 60_000

interface PublisherServices extends ImportServices {
  readonly limits: PublishingLimits
  readonly publications: Publications
  readonly log: Log
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Publishes files and folders of users, and withdraws them. */
export class Publisher {
  readonly #services: PublisherServices
  readonly #background: BackgroundWork
  readonly #additions: Additions
  readonly #comparison: PathComparison

  constructor(services: PublisherServices) {
    const { log, signal } = services
    const background = new BackgroundWork(log, signal)
    const slots = new FairSlots({ most: treesAtOnce, mostPerKey: 1 })
    this.#services = services
    this.#background = background
    this.#additions = new Additions({ ...services, background, slots })
    this.#comparison = new PathComparison({ ...services, background, slots })
  }

  /**
   * Publishes a file or folder as it is now. A call for a path that is being published waits for the same end.
   *
   * @throws NodekeepError of `UserFiles`; CONFLICT if it changes meanwhile, is withdrawn, or the user has as many as allowed; PAYLOAD_TOO_LARGE, VALIDATION_ERROR for
   *   the limits; INSUFFICIENT_STORAGE
   */
  async publish(userUuid: string, path: string): Promise<Publication> {
    const entry = await requireFiles(this.#services.files).for({ uuid: userUuid }).stat(path)
    return this.#additions.add(userUuid, entry.path)
  }

  /** The publications of a user, those that are being added first, and the bytes that they take. */
  async list(userUuid: string): Promise<{ publications: ListedPublication[]; bytes: number }> {
    const { publications, store } = this.#services
    const roots = await publicationRoots(store)
    const published = publications.list(userUuid)
    const states = new Map<string, PublicationState>()
    await concurrently(published, lookupsAtOnce, async (publication) => {
      const isThere = roots.get(publication.id) === publication.cid
      states.set(publication.id, isThere ? await this.#comparison.stateOf(publication) : 'missing')
    })
    return {
      publications: [
        ...this.#additions.list(userUuid),
        ...published.map((each) => ({ ...each, state: states.get(each.id) ?? 'published' })),
      ],
      bytes: await publications.bytesOf(userUuid),
    }
  }

  /**
   * Withdraws a publication, ends one that is being added, or forgets one that has failed. When this resolves, nobody can begin to read
   * it any more.
   *
   * @throws NodekeepError NOT_FOUND if the user has no such publication
   */
  async withdraw(
    userUuid: string,
    id: string,
  ): Promise<{ readonly path: string; readonly cid: string | null }> {
    const { publications, store } = this.#services
    const path = await this.#additions.end(userUuid, id)
    const publication = publications.get(userUuid, id)
    if (publication !== null) {
      publications.withdraw(userUuid, id)
      this.#background.run(() => removePublication(publications, store, id))
      return publication
    }
    if (path !== null) return { path, cid: null }
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
      await this.#additions.endAll(userUuid)
      publications.withdrawAll(userUuid)
      for (const id of publications.hidden(userUuid)) await removePublication(publications, store, id)
    }
    if (store.isUsed) await untilAborted((await store.open()).compact(), signal)
  }

  /**
   * Lets publications and the store agree after a crash or a restore, in the background: removes roots and rows that the other does not
   * have, and imports again what the store lacks.
   */
  reconcile(): void {
    const { publications, store, log, signal } = this.#services
    if (publications.isUsed || store.isUsed)
      this.#background.run(() =>
        this.#reconcile().catch((error) => {
          if (signal.aborted) return
          log.warn({ err: error }, 'Publications could not be compared with the store. The node tries again.')
          setTimeout(() => signal.aborted || this.reconcile(), reconcileAgainMs).unref()
        }),
      )
  }

  async close(): Promise<void> {
    await this.#additions.close()
    await this.#background.ended()
  }

  async #reconcile(): Promise<void> {
    const { publications, store, signal } = this.#services
    const left = publications.hidden(null).filter((id) => !this.#additions.has(id))
    for (const id of left) await removePublication(publications, store, id)
    const roots = await publicationRoots(store)
    for (const id of roots.keys())
      if (!publications.has(id) && !this.#additions.has(id))
        await setPublicationRoot(await store.open(), id, null)
    for (const publication of publications.all()) {
      signal.throwIfAborted()
      if (roots.get(publication.id) === publication.cid || (await this.#keep(publication))) continue
      this.#comparison.importAgain(publication)
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
      await setPublicationRoot(store, id, root)
      if (publications.get(userUuid, id) === null) await setPublicationRoot(store, id, null)
      return true
    } catch (error) {
      if (isNodekeepError(error) && error.code === 'NOT_FOUND') return false
      throw error
    } finally {
      session.end()
    }
  }
}
