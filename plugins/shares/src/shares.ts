import { randomUUID } from 'node:crypto'
import { conflict, type FileIndex, type FilesService, invalid, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Passwords } from './guests/passwords.ts'
import { type Places, unlessUnavailable } from './guests/places.ts'
import type { RunningAnswers } from './guests/running-answers.ts'
import type { Share, ShareKind, ShareTerms } from './share.ts'
import type { ShareChange, ShareTable } from './tables/share-table.ts'
import type { UseTable } from './tables/use-table.ts'
import { hashOfToken, newToken } from './token.ts'

const dayMs = 24 * 60 * 60 * 1000

/** Days for which a link works, unless its maker says otherwise. */
const usualDays = 30

/** Days after its end for which a link stays in the list. */
const keptDays = 30

/** The bounds of uploads, unless the maker says otherwise. */
const usualFiles = 1000
const usualBytes = 10 * 1024 ** 3

interface SharesServices {
  readonly table: ShareTable
  readonly uses: UseTable
  readonly places: Places
  readonly passwords: Passwords
  readonly running: RunningAnswers
  readonly files: FilesService
  readonly index: FileIndex
  readonly maxDays: number
  readonly linksPerUser: number
  /** Ends the uploads of a link. */
  readonly endDrops: (share: string) => Promise<void>
}

/** The wishes of a maker. What is left out is as usual, or stays as it is. */
interface Wishes {
  readonly kind?: ShareKind
  readonly expires?: string
  readonly password?: string | null
  readonly maxBytes?: number
  readonly maxFiles?: number
  readonly keepMetadata?: boolean
  readonly askSender?: boolean
}

/** The state of a link. `gone`: the entry is gone. `back`: it was gone, and is there again. */
type ShareState = 'open' | 'expired' | 'gone' | 'back'

/** The links as their makers, and the owner, act on them. */
export class Shares {
  readonly #services: SharesServices

  constructor(services: SharesServices) {
    this.#services = services
  }

  get maxDays(): number {
    return this.#services.maxDays
  }

  /** Days for which a link works by default. */
  get days(): number {
    return Math.min(usualDays, this.maxDays)
  }

  /**
   * Makes a link.
   *
   * @returns the link, and its secret, which nothing stores
   * @throws NodekeepError NOT_FOUND, CONFLICT, VALIDATION_ERROR
   */
  async create(
    userUuid: string,
    path: string,
    { password = null, ...wishes }: Wishes & { readonly kind: ShareKind },
  ): Promise<{ readonly share: Share; readonly token: string }> {
    const { table, files, index, passwords, linksPerUser } = this.#services
    if (path === '/') throw invalid('All files cannot have one link. Choose a folder.')
    const ofUser = index.for({ uuid: userUuid })
    const entry = await ofUser.at(path)
    if (entry === null) {
      await files.for({ uuid: userUuid }).stat(path)
      if (await ofUser.isComplete())
        throw invalid(`"${path}" is the place of a mount. Choose a folder in it.`)
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        'The node is still looking at your files. Try again later.',
        {
          headers: { 'retry-after': '30' },
        },
      )
    }
    const until = new Date(Date.now() + this.days * dayMs)
    const usual = { expires: until, keepMetadata: false, askSender: false, maxBytes: null, maxFiles: null }
    const hash = password === null ? null : await passwords.hashOf(password)
    const share: Share = {
      id: randomUUID(),
      userUuid,
      entry: entry.id,
      path: entry.path,
      type: entry.type,
      created: new Date(),
      isClosed: false,
      password: hash,
      droppedFiles: 0,
      droppedBytes: 0,
      ...this.#terms(entry.type, usual, wishes),
    }
    if (table.count(userUuid) >= linksPerUser)
      throw conflict(
        `You have the ${linksPerUser} links that are allowed (shares.linksPerUser). Remove one first.`,
      )
    const token = newToken()
    table.add(share, hashOfToken(token))
    return { share, token }
  }

  /** The links of a user, the newest first. */
  ofUser(userUuid: string): Share[] {
    return this.#services.table.ofUser(userUuid)
  }

  /** The links of all users, the newest first. */
  all(): Share[] {
    return this.#services.table.all()
  }

  /**
   * A link of a user.
   *
   * @param user the owner of the node acts on all links
   * @throws NodekeepError NOT_FOUND
   */
  get(user: { readonly uuid: string; readonly owner: boolean }, id: string): Share {
    const share = this.#services.table.get(id)
    if (share !== null && (user.owner || share.userUuid === user.uuid)) return share
    throw noSuchShare()
  }

  /**
   * Changes a link. What runs by it ends if guests may do less, or have to enter a password, from now on. Changes at the same time
   * that name other terms all count.
   *
   * @param isReopened whether a link works again whose entry was gone, and is back
   * @param isRenewed whether it gets a new secret in place of the former one
   * @returns the link, and its new secret; null if it has the former one
   * @throws NodekeepError NOT_FOUND, VALIDATION_ERROR, CONFLICT
   */
  async change(
    share: Share,
    { password, ...wishes }: Wishes,
    { isReopened = false, isRenewed = false } = {},
  ): Promise<{ readonly share: Share; readonly token: string | null }> {
    const { table, passwords } = this.#services
    const hash =
      password === undefined ? undefined : password === null ? null : await passwords.hashOf(password)
    const reopened = isReopened ? await this.#reopened(share) : {}
    // From here on, nothing waits: another change may have been made meanwhile, and stays.
    const former = table.get(share.id)
    if (former === null) throw noSuchShare()
    const terms = this.#terms(former.type, former, wishes)
    const change: ShareChange = {
      ...terms,
      ...(hash !== undefined && { password: hash }),
      ...reopened,
    }
    const mayLess =
      wishes.kind !== undefined ||
      (former.keepMetadata && !terms.keepMetadata) ||
      terms.expires.getTime() < former.expires.getTime()
    const token = isRenewed ? newToken() : null
    table.change(share.id, change, token === null ? undefined : hashOfToken(token))
    if (isRenewed || hash !== undefined || mayLess) await this.#endUses(share.id)
    return { share: table.get(share.id) ?? former, token }
  }

  /** Ends a link, and everything that runs by it. */
  async remove({ id }: Pick<Share, 'id'>): Promise<void> {
    this.#services.table.remove(id)
    await this.#endUses(id)
    this.#services.uses.forget(id)
  }

  /** The entry of a link was gone: the link is closed. */
  async closeGone({ id }: Pick<Share, 'id'>): Promise<void> {
    this.#services.table.change(id, { isClosed: true })
    await this.#endUses(id)
  }

  /** Removes the links of a user. */
  async erase(userUuid: string): Promise<void> {
    for (const id of this.#services.table.erase(userUuid)) await this.remove({ id })
  }

  /** Ends what runs by links that are too old, and forgets those that are older. */
  async sweep(): Promise<void> {
    for (const { id, expires } of this.all()) if (expires.getTime() <= Date.now()) await this.#endUses(id)
    for (const id of this.#services.table.removeExpired(new Date(Date.now() - keptDays * dayMs)))
      await this.remove({ id })
  }

  /** The state of a link now, and where its entry is. */
  async stateOf(share: Share): Promise<{ readonly state: ShareState; readonly path: string | null }> {
    const { places, table } = this.#services
    const isExpired = share.expires.getTime() <= Date.now()
    const entry = share.isClosed ? null : await places.entryOf(share).catch(unlessUnavailable)
    // It is not known whether the entry is gone, so the link stays as it was.
    if (entry === undefined) return { state: isExpired ? 'expired' : 'open', path: share.path }
    if (entry !== null) return { state: isExpired ? 'expired' : 'open', path: entry.path }
    const back = await this.#entryBack(table.get(share.id) ?? share)
    if (isExpired) return { state: 'expired', path: back?.path ?? null }
    return back === null ? { state: 'gone', path: null } : { state: 'back', path: back.path }
  }

  /** Closes the links of a user whose entries are gone. Returns whether it is known of all if they are. */
  async check(userUuid: string): Promise<boolean> {
    const { places } = this.#services
    let isKnown = true
    for (const share of this.ofUser(userUuid)) {
      if (share.isClosed || share.entry === null) continue
      const entry = await places.entryOf(share).catch(unlessUnavailable)
      isKnown &&= entry !== undefined
    }
    return isKnown
  }

  async #endUses(id: string): Promise<void> {
    this.#services.running.end(id)
    await this.#services.endDrops(id)
  }

  async #reopened(share: Share): Promise<ShareChange> {
    const entry = await this.#entryBack(share)
    if (entry === null) throw conflict('The file or folder of this link is gone. Restore it first.')
    return { isClosed: false, entry: entry.id, path: entry.path }
  }

  /** The entry of a closed link: by its id, or by its path if it is of the same type. */
  async #entryBack({ userUuid, entry: id, path, type }: Share) {
    const ofUser = this.#services.index.for({ uuid: userUuid })
    const entry = (id === null ? null : await ofUser.entry(id)) ?? (await ofUser.at(path))
    return entry?.type === type ? entry : null
  }

  /** @throws NodekeepError VALIDATION_ERROR */
  #terms(
    type: Share['type'],
    former: Omit<ShareTerms, 'kind'> & Partial<ShareTerms>,
    wishes: Wishes,
  ): ShareTerms {
    const kind = wishes.kind ?? former.kind ?? 'read'
    if (type === 'file' && kind !== 'read')
      throw invalid('Guests can upload into a folder only, not into a file.')
    const takes = kind !== 'read'
    if (!takes && (wishes.maxBytes !== undefined || wishes.maxFiles !== undefined))
      throw invalid('"maxBytes" and "maxFiles" bound uploads, and guests of a link to read upload nothing.')
    return {
      kind,
      expires: wishes.expires === undefined ? former.expires : this.#expiryOf(wishes.expires),
      keepMetadata: wishes.keepMetadata ?? former.keepMetadata,
      askSender: wishes.askSender ?? former.askSender,
      maxBytes: takes ? (wishes.maxBytes ?? former.maxBytes ?? usualBytes) : null,
      maxFiles: takes ? (wishes.maxFiles ?? former.maxFiles ?? usualFiles) : null,
    }
  }

  #expiryOf(text: string): Date {
    const expires = new Date(text)
    const latest = Date.now() + this.maxDays * dayMs
    if (!(expires.getTime() > Date.now() && expires.getTime() <= latest))
      throw invalid(`"expires" must be in the future, and within ${this.maxDays} days (shares.maxDays).`)
    return expires
  }
}

function noSuchShare(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'You have no such link.')
}
