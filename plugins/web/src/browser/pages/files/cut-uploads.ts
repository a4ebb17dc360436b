import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { computed, signal } from '@preact/signals'
import { request } from '../../request.ts'
import * as texts from '../../texts.ts'
import { forgetUpload } from './resumed-upload.ts'
import { type BegunUpload, hasEnded, type IfExists, type Task, type Tasks } from './tasks.ts'
import { toldOf } from './told.ts'
import { upload } from './upload.ts'

/** An upload that was cut short when the page was reloaded or closed. */
interface CutUpload {
  /** The destination. */
  readonly path: string
  readonly ifExists: IfExists
  /** The part that the node has, if it can go on from there. */
  readonly begun: BegunUpload | null
  /** The file, as the browser tells it when the person chooses it again: bytes, and milliseconds since 1970. */
  readonly name: string
  readonly size: number
  readonly lastModified: number
}

/** Where the tab keeps them. A sign-out removes everything that a tab keeps. */
const key = 'cut uploads'

/**
 * The uploads that a reload of the tab cut short. A page cannot read a file after that, so the person chooses the files again, and
 * each goes on where it stopped. A file with another size or time is another file.
 */
export class CutUploads {
  readonly list = signal<readonly CutUpload[]>([])
  /** Bytes that are still to be sent. */
  readonly missing = computed(() =>
    this.list.value.reduce(
      (sum, { size, begun }) => sum + size - (this.#arrived.value.get(idOf(begun)) ?? 0),
      0,
    ),
  )
  readonly #page: PageContext
  readonly #tasks: Tasks
  /** Bytes that the node has, by the ids of uploads. */
  readonly #arrived = signal<ReadonlyMap<string, number>>(new Map())

  constructor(page: PageContext, tasks: Tasks) {
    this.#page = page
    this.#tasks = tasks
    this.list.value = kept()
    keep([])
    // A browser may end a tab that is hidden without another event.
    const onVisibility = () => keep(document.hidden ? this.#unfinished() : [])
    addEventListener('pagehide', () => keep(this.#unfinished()), { signal: page.signedOut })
    document.addEventListener('visibilitychange', onVisibility, { signal: page.signedOut })
    if (this.list.value.some(({ begun }) => begun !== null)) void this.#ask()
  }

  /**
   * Goes on with the files that the person has chosen again.
   *
   * @returns how many of them are none of those that were cut short
   */
  goOn(files: readonly File[], maxFileSize: number): number {
    const left = new Map<string, CutUpload[]>()
    for (const cut of this.list.value) left.set(keyOf(cut), [...(left.get(keyOf(cut)) ?? []), cut])
    const works = files.flatMap((file) => {
      const cut = left.get(keyOf(file))?.shift()
      return cut === undefined ? [] : [upload(this.#page, cut.path, file, maxFileSize, cut)]
    })
    this.list.value = [...left.values()].flat()
    if (works.length > 0) this.#tasks.add(works, toldOf(texts.files.done.uploaded))
    return files.length - works.length
  }

  /** Gives them up, and lets the node forget the parts that it has. */
  async forget(): Promise<void> {
    const cuts = this.list.value
    this.list.value = []
    for (const { begun } of cuts) if (begun !== null) await forgetUpload(this.#page, begun.address)
  }

  async #ask(): Promise<void> {
    try {
      const { uploads } = await request(this.#page, 'GET /api/files/uploads')
      this.#arrived.value = new Map(uploads.map(({ id, offset }) => [id, offset]))
    } catch {
      // The node tells it again for each upload that goes on.
    }
  }

  #unfinished(): CutUpload[] {
    return [...this.list.value, ...this.#tasks.list.value.flatMap(cutUploadOf)]
  }
}

function cutUploadOf({ work, state, ifExists }: Task): CutUpload[] {
  const { source, path, begun } = work
  if (hasEnded(state.value) || begun === undefined || !(source instanceof File)) return []
  const { name, size, lastModified } = source
  return [{ path, ifExists, begun: begun(), name, size, lastModified }]
}

/** Returns the id in the address of an upload; empty if none was begun. */
function idOf(begun: BegunUpload | null): string {
  return begun?.address.split('/').at(-1) ?? ''
}

function keyOf({ name, size, lastModified }: Pick<CutUpload, 'name' | 'size' | 'lastModified'>): string {
  return JSON.stringify([name, size, lastModified])
}

function kept(): CutUpload[] {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? '[]') as CutUpload[]
  } catch {
    return []
  }
}

function keep(cuts: readonly CutUpload[]): void {
  try {
    if (cuts.length === 0) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, JSON.stringify(cuts))
  } catch {
    // Some browsers refuse storage, and very many uploads have no room in it.
  }
}
