import type { PageContext } from '@nodekeep/plugin-sdk/web-page'
import { signal } from '@preact/signals'

/**
 * The file that fills the window. The address names it, as in `#/files/trip?file=/trip/photo.jpg`: so it can be linked to, "Back" closes it,
 * and a reload shows it again.
 */
export class ViewedFile {
  /** The path of the file; `null` while none is open. */
  readonly path = signal<string | null>(null)
  /** Set while something in the file is not saved. It asks the person, and resolves to whether the file may go away. */
  mayLeave: (() => Promise<boolean>) | null = null
  /** Called when the person begins to change the text of a file. */
  onChange: (path: string) => void = () => {}
  /** The file that was opened to be edited; `null` once its editor is open. */
  toEdit: string | null = null
  readonly #page: PageContext
  readonly #name: string
  /** Whether "Back" leads to the page without the file. */
  #hasPageBefore = false

  /** @param name the name of the page, as in its address */
  constructor(page: PageContext, name: string) {
    this.#page = page
    this.#name = name
    this.path.value = page.query.file ?? null
  }

  open(path: string): void {
    this.#hasPageBefore = true
    this.#go(path, false)
  }

  /** Shows a text in its editor. */
  edit(path: string): void {
    this.toEdit = path
    this.open(path)
  }

  /** Shows another file. "Back" still closes the viewer. */
  async step(path: string | null): Promise<void> {
    if (path !== null && (await this.#isFree())) this.#go(path, true)
  }

  async close(): Promise<void> {
    if (this.path.value === null || !(await this.#isFree())) return
    if (this.#hasPageBefore) history.back()
    else this.#go(null, true)
    this.#hasPageBefore = false
  }

  /**
   * Follows the address.
   *
   * @param path the file that it names; `null` if it names none
   * @returns whether the page may follow, too: otherwise the address is put back, and the person is asked
   */
  follow(path: string | null): boolean {
    const before = this.path.value
    if (before !== null && path !== before && this.mayLeave !== null) {
      this.open(before)
      void this.close()
      return false
    }
    if (path === null) this.#hasPageBefore = false
    this.path.value = path
    return true
  }

  #go(path: string | null, replace: boolean): void {
    const { file: _before, ...query } = this.#page.query
    const { place } = this.#page
    this.#page.navigate(`/${this.#name}${place === '/' ? '' : place}`, {
      query: path === null ? query : { ...query, file: path },
      replace,
    })
  }

  async #isFree(): Promise<boolean> {
    if (this.mayLeave === null) return true
    if (!(await this.mayLeave())) return false
    this.mayLeave = null
    return true
  }
}
