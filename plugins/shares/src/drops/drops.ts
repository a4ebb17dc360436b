import { randomBytes } from 'node:crypto'
import {
  bytesUntilAborted,
  conflict,
  type FilesService,
  isNodekeepError,
  KeyedLock,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { isOverQuota } from '../guests/no-room.ts'
import { beingMoved, type Place, type Places, unlessUnavailable } from '../guests/places.ts'
import { networkOf } from '../network-of.ts'
import type { Share } from '../share.ts'
import type { ShareTable } from '../tables/share-table.ts'
import type { UseTable } from '../tables/use-table.ts'
import { Allowances, type Left } from './allowances.ts'
import { numberedName } from './file-name.ts'
import { type AnnouncedFile, type OpenUpload, openUpload } from './open-upload.ts'
import type { StagedDrops } from './staged-drop.ts'
import { atMost, bounded, fileTooLarge, nothing } from './upload-content.ts'

/** Milliseconds for which an upload is kept of which nothing arrives: others may lack its part of what the link takes. */
export const keepMs = 30 * 60 * 1000

/** Names that are tried for a file. */
const mostNames = 10_000

interface DropsServices {
  readonly files: FilesService
  readonly places: Places
  readonly shares: ShareTable
  readonly uses: UseTable
  readonly staged: StagedDrops
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal
}

/** How far an upload is, in bytes. */
interface Progress {
  readonly offset: number
  readonly length: number
}

/**
 * The files that guests upload. Each gets a free name in the shared folder, and nothing is overwritten. An upload of a script goes on
 * after it broke off.
 *
 * Each file is stored and counted once, also if the node is killed at any time. Before the file is written, the upload remembers the position of the
 * journal, and the write carries the id of the upload as its group. So the journal tells afterwards whether the file is stored. Then it is counted,
 * which an upload does once, and then its end is recorded.
 */
export class Drops {
  readonly #services: DropsServices
  readonly #allowances: Allowances
  readonly #open = new Map<string, OpenUpload>()
  readonly #turns = new KeyedLock()

  constructor(services: DropsServices) {
    this.#services = services
    this.#allowances = new Allowances(services.shares, services.files)
  }

  /** Takes the uploads up that began before a restart. */
  resume(): void {
    const { shares, uses, staged } = this.#services
    const uploads = uses.unfinished()
    shares.forgetCountedBut(uploads.map(({ id }) => id))
    for (const upload of uploads) {
      const { id, share, userUuid, network, length, received } = upload
      const allowance = this.#allowances.resume({ id: share, userUuid }, network, length)
      const bytes = staged.open(id, allowance.room, received)
      this.#open.set(id, { ...upload, staged: bytes, allowance, newest: null })
    }
  }

  /** Files and bytes that guests may still upload by a link. */
  left(share: string): Left {
    return this.#allowances.left(share)
  }

  /** Bytes of the largest file. */
  get maxFileSize(): number {
    return this.#services.files.maxFileSize
  }

  /**
   * Begins an upload that goes on after it broke off, and returns its id. All of it has its room from now on, so it is not refused half-way.
   *
   * @param address that of the guest
   * @throws NodekeepError PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE, TOO_MANY_REQUESTS; NOT_FOUND if the link ends meanwhile
   */
  async begin(share: Share, address: string, file: AnnouncedFile): Promise<string> {
    const { uses, staged } = this.#services
    if (file.length > this.maxFileSize) throw fileTooLarge(this.maxFileSize)
    const network = networkOf(address)
    const allowance = this.#allowances.take(share, network, file.length)
    const id = randomBytes(16).toString('hex')
    const upload = openUpload(share, file, {
      id,
      network,
      length: file.length,
      staged: staged.open(id, allowance.room),
      allowance,
      newest: null,
    })
    try {
      // It is there before the first wait, so that the end of its link ends it.
      this.#open.set(id, upload)
      uses.addUpload({ ...upload, received: 0 })
      if (file.length === 0) await this.receive(share, id, 0, nothing())
      else {
        await allowance.hold(file.length)
        this.#of(share.id, id)
      }
    } catch (error) {
      await this.#turns.run([id], () => this.#end(upload))
      throw error
    }
    return id
  }

  /**
   * Tells how many bytes of an upload have arrived, and how many it has.
   *
   * @throws NodekeepError NOT_FOUND; SERVICE_UNAVAILABLE if it is not known yet whether its file is stored
   */
  async progress(share: Share, id: string): Promise<Progress> {
    const upload = this.#open.get(id)
    if (upload?.share === share.id && upload.newest === null)
      await this.#turns.run([id], () => this.#settle(upload))
    return this.#progress(share, id)
  }

  /**
   * Receives bytes of an upload, and stores the file once all are there. The newest request goes on, and ends the one before: its connection may be gone.
   * An upload for which its maker has no room any more ends.
   *
   * @returns the number of bytes that have arrived
   * @throws NodekeepError NOT_FOUND; CONFLICT if the offset is another one; PAYLOAD_TOO_LARGE; INSUFFICIENT_STORAGE; SERVICE_UNAVAILABLE as
   *   `progress`; the error of the content
   */
  async receive(
    share: Share,
    id: string,
    offset: number,
    content: AsyncIterable<Uint8Array>,
  ): Promise<number> {
    const turn = new AbortController()
    const signal = AbortSignal.any([turn.signal, this.#services.signal])
    const upload = this.#open.get(id)
    if (upload?.share !== share.id) {
      // It has ended. A guest who has lost the last answer learns that.
      this.#checkOffset(share, id, offset)
      return offset
    }
    upload.newest?.abort(conflict('A newer request goes on with this upload.'))
    upload.newest = turn
    return this.#turns.run([id], async () => {
      try {
        await this.#settle(upload)
        this.#checkOffset(share, id, offset)
        if (this.#open.get(id) !== upload) return offset
        await this.#receive(upload, bytesUntilAborted(content, signal))
        if (upload.staged.received === upload.length) await this.#store(share, upload, signal)
        return upload.staged.received
      } catch (error) {
        // Its part is there for others at once.
        if (isOverQuota(error)) await this.#end(upload)
        throw error
      } finally {
        if (upload.newest === turn) upload.newest = null
      }
    })
  }

  /**
   * Stores a file of a form, whose length is not known before. It gives way to an older one for which there is no room beside it.
   *
   * @throws NodekeepError PAYLOAD_TOO_LARGE, INSUFFICIENT_STORAGE, TOO_MANY_REQUESTS; the error of the content
   */
  async store(
    share: Share,
    address: string,
    file: Omit<AnnouncedFile, 'length'>,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    const turn = new AbortController()
    const upload = await this.#receiveForm(share, address, file, content, turn)
    await this.#turns.run([upload.id], async () => {
      try {
        await this.#store(share, upload, AbortSignal.any([turn.signal, this.#services.signal]))
      } catch (error) {
        await this.#end(upload)
        throw error
      } finally {
        upload.newest = null
      }
    })
  }

  /** Ends all uploads of a link. */
  async end(share: string): Promise<void> {
    const uploads = [...this.#open.values()].filter((upload) => upload.share === share)
    for (const { newest } of uploads) newest?.abort(noSuchUpload())
    for (const upload of uploads) await this.#turns.run([upload.id], () => this.#end(upload))
  }

  /** Counts the files that a killed node has stored, ends the uploads of which nothing arrived for long, and removes what no upload has. */
  async sweep(): Promise<void> {
    const { uses, staged } = this.#services
    for (const upload of this.#open.values())
      if (upload.began !== null && upload.newest === null)
        await this.#turns.run([upload.id], () => this.#settle(upload)).catch(unlessUnavailable)
    const before = new Date(Date.now() - keepMs)
    uses.forgetFinished(before)
    for (const id of uses.uploadsUnusedSince(before)) {
      const upload = this.#open.get(id)
      if (upload?.newest === null) await this.#turns.run([id], () => this.#end(upload))
    }
    await staged.sweep()
  }

  #of(share: string, id: string): OpenUpload {
    const upload = this.#open.get(id)
    if (upload === undefined || upload.share !== share) throw noSuchUpload()
    return upload
  }

  #progress({ id: share }: Share, id: string): Progress {
    const finished = this.#services.uses.lengthOfFinished(share, id)
    if (finished !== null) return { offset: finished, length: finished }
    const { staged, length } = this.#of(share, id)
    // The upload is complete when its file is stored.
    return { offset: staged.received === length ? Math.max(0, length - 1) : staged.received, length }
  }

  #checkOffset(share: Share, id: string, offset: number): void {
    if (offset !== this.#progress(share, id).offset) throw otherOffset()
  }

  /** Receives a file of a form, whose length is known at its end. It is an upload from then on. */
  async #receiveForm(
    share: Share,
    address: string,
    file: Omit<AnnouncedFile, 'length'>,
    content: AsyncIterable<Uint8Array>,
    newest: AbortController,
  ): Promise<OpenUpload> {
    const network = networkOf(address)
    const allowance = this.#allowances.take(share, network, null)
    const id = randomBytes(16).toString('hex')
    const staged = this.#services.staged.open(id, allowance.room)
    try {
      await staged.receive(bytesUntilAborted(bounded(content, this.maxFileSize, allowance), allowance.signal))
      allowance.settle()
      const upload = openUpload(share, file, {
        id,
        network,
        length: staged.received,
        staged,
        allowance,
        newest,
      })
      // Nobody goes on with it. It is there for a restart, which counts the file if it is stored.
      this.#services.uses.addUpload({ ...upload, received: staged.received }, 0)
      this.#open.set(id, upload)
      return upload
    } catch (error) {
      allowance.release()
      await staged.remove()
      throw error
    }
  }

  async #receive({ id, staged, length }: OpenUpload, content: AsyncIterable<Uint8Array>): Promise<void> {
    const former = staged.received
    try {
      if (former < length) await staged.receive(atMost(content, length - former))
    } finally {
      if (staged.received > former) this.#services.uses.setReceived(id, staged.received)
    }
  }

  /** Stores the file of an upload of which all bytes have arrived. */
  async #store(share: Share, upload: OpenUpload, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(share, upload, signal)
    } catch (error) {
      // A write may fail although it took effect.
      await this.#settle(upload).catch(unlessUnavailable)
      if (this.#open.get(upload.id) === upload) throw error
      return
    }
    await this.#finish(upload)
  }

  /**
   * Finds out whether the file of an upload is stored, if that may be. Then the upload ends. Only in its turn.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if it is not known yet
   */
  async #settle(upload: OpenUpload): Promise<void> {
    const { id, userUuid, began } = upload
    if (began === null || this.#open.get(id) !== upload) return
    if (await this.#services.places.hasStored(userUuid, began, id)) await this.#finish(upload)
  }

  /** Ends an upload without its file, unless the file turns out to be stored. Only in its turn. */
  async #end(upload: OpenUpload): Promise<void> {
    try {
      // The files of a link that is gone count nowhere.
      if (this.#services.shares.get(upload.share) !== null) await this.#settle(upload)
    } catch (error) {
      // A later sweep finds it out.
      return unlessUnavailable(error)
    }
    if (this.#open.get(upload.id) === upload) await this.#forget(upload)
  }

  /** The file of an upload is stored. Nothing waits between the steps, so the limits have it once at any time. */
  async #finish(upload: OpenUpload): Promise<void> {
    const { shares, uses } = this.#services
    const { id, share, length, staged, allowance } = upload
    shares.countDrop(share, id, length)
    uses.finish(upload)
    shares.forgetCounted(id)
    this.#open.delete(id)
    allowance.release()
    await staged.remove()
  }

  async #forget({ id, staged, allowance }: OpenUpload): Promise<void> {
    this.#open.delete(id)
    allowance.release()
    this.#services.uses.removeUpload(id)
    await staged.remove()
  }

  /**
   * Writes the file under a free name. Other guests and the maker may take a name at any time, so only the write itself decides.
   *
   * @param signal aborts when its link ends
   */
  async #write(share: Share, upload: OpenUpload, signal: AbortSignal): Promise<void> {
    const { places, uses } = this.#services
    const { id, name, sender, staged, allowance } = upload
    const write = async ({ files, root, since }: Place): Promise<() => Promise<void>> => {
      // A write makes missing folders. One that has moved meanwhile must not be made again.
      if (!(await isThere(files, root))) throw beingMoved()
      uses.beginEnd(id, since)
      upload.began = since
      for (let number = 1; number <= mostNames; number += 1) {
        const path = `${root}/${numberedName(name, number)}`
        if (await isThere(files, path)) continue
        try {
          const { revision: ifRevision } = await files.write(path, staged.content(), {
            ifAbsent: true,
            size: staged.received,
            room: allowance.room,
            freeChunks: true,
            by: sender === null ? 'A guest' : `${sender} (guest)`,
            maker: { kind: 'plugin', id: 'shares', user: share.userUuid },
            group: id,
            signal,
          })
          return () => files.remove(path, { ifRevision, permanent: true, group: id })
        } catch (error) {
          if (!isNodekeepError(error) || error.code !== 'PRECONDITION_FAILED') throw error
        }
      }
      throw conflict('Too many files have this name.')
    }
    // Where the folder is no more, another one may be.
    await places.at(share, '', write, (takeBack) => takeBack())
  }
}

async function isThere(files: ReturnType<FilesService['for']>, path: string): Promise<boolean> {
  try {
    await files.stat(path)
    return true
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return false
    throw error
  }
}

function otherOffset(): NodekeepError {
  return conflict('The upload is at another offset. Ask for its offset with HEAD, and go on from there.')
}

function noSuchUpload(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is no such upload. It may have ended. Begin it again.')
}
