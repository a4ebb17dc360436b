import { batch, signal } from '@preact/signals'
import type { Photo } from './photos.ts'

/** The photos that are selected. */
export class PhotoSelection {
  /** Whether a click selects, in place of opening. */
  readonly isOn = signal(false)
  readonly paths = signal<ReadonlySet<string>>(new Set())
  /** The photo where a range begins. */
  #anchor: string | null = null

  toggle({ path }: Photo): void {
    const paths = new Set(this.paths.value)
    if (!paths.delete(path)) paths.add(path)
    batch(() => {
      this.isOn.value = true
      this.paths.value = paths
    })
    this.#anchor = path
  }

  /** Selects the photos between the last one that was selected and this one, in the order of a list. */
  upTo({ path }: Photo, list: readonly Photo[]): void {
    const [from, to] = [this.#anchor, path].map((of) => list.findIndex((photo) => photo.path === of))
    if (from === undefined || to === undefined || from < 0 || to < 0) return
    const range = list.slice(Math.min(from, to), Math.max(from, to) + 1)
    this.paths.value = new Set([...this.paths.value, ...range.map((photo) => photo.path)])
    this.isOn.value = true
  }

  /** Selects nothing, and clicks open again. */
  end(): void {
    batch(() => {
      this.isOn.value = false
      this.paths.value = new Set()
    })
    this.#anchor = null
  }
}
