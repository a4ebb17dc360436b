import { type FairSlots, isNodekeepError, type Log } from '@nodekeep/plugin-sdk'
import type { BackgroundWork } from './background-work.ts'
import { changeIn } from './folder-changes.ts'
import { type ImportServices, importPath } from './import-path.ts'
import { setPublicationRoot } from './publication-roots.ts'
import type { Publication, PublicationState, Publications } from './publications.ts'

interface PathComparisonServices extends ImportServices {
  readonly publications: Publications
  readonly slots: FairSlots
  readonly background: BackgroundWork
  readonly log: Log
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

/** Compares publications with what their paths have now. */
export class PathComparison {
  readonly #services: PathComparisonServices
  /** Ids of publications whose paths are imported. */
  readonly #importing = new Set<string>()

  constructor(services: PathComparisonServices) {
    this.#services = services
  }

  /** Whether the path of a publication has what was published. */
  async stateOf(publication: Publication): Promise<PublicationState> {
    const { files, changes, publications } = this.#services
    const { userUuid, path, revision, unchangedUntil } = publication
    if (files === undefined || changes === undefined) return 'published'
    try {
      const entry = await files.for({ uuid: userUuid }).stat(path)
      if (revision !== null) return entry.revision === revision ? 'published' : 'changed'
      if (unchangedUntil === null || entry.type === 'file') return 'changed'
      const change = await changeIn(changes, userUuid, path, unchangedUntil)
      if (change === null) this.importAgain(publication)
      else if (change.isChanged || change.position.seq > unchangedUntil.seq)
        publications.recordComparison(publication, {
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

  /**
   * Imports what is at the path of a publication, in the background. If it is the same content, the publication has all its blocks
   * again.
   */
  importAgain(publication: Publication): void {
    const { id, userUuid, path } = publication
    const { slots, background, log, signal } = this.#services
    if (this.#importing.has(id)) return
    this.#importing.add(id)
    background.run(() =>
      slots
        .run(userUuid, () => this.#importAgain(publication))
        .catch((error) => {
          if (!signal.aborted)
            log.info({ err: error, path }, 'A publication cannot be compared with its path now.')
        })
        .finally(() => this.#importing.delete(id)),
    )
  }

  async #importAgain(publication: Publication): Promise<void> {
    const { id, userUuid, path } = publication
    const { publications, signal } = this.#services
    signal.throwIfAborted()
    await importPath(this.#services, { userUuid, path, signal }, async (imported, store) => {
      const isSame = String(imported.cid) === publication.cid
      if (publications.get(userUuid, id) === null) return
      if (isSame) await setPublicationRoot(store, id, imported.cid)
      if (isSame) publications.recordComparison(publication, imported)
      else if (publication.revision === null)
        publications.recordComparison(publication, { revision: null, unchangedUntil: null })
      if (publications.get(userUuid, id) === null) await setPublicationRoot(store, id, null)
    })
  }
}
