import { folderOf } from './sync-paths.ts'

/** Values by path, with the paths in each folder. */
export class PathTree<T> {
  readonly #values = new Map<string, T>()
  readonly #children = new Map<string, Set<string>>()

  get(path: string): T | undefined {
    return this.#values.get(path)
  }

  set(path: string, value: T): void {
    this.#values.set(path, value)
    for (let child = path; child !== '/'; child = folderOf(child)) {
      const folder = folderOf(child)
      const siblings = this.#children.get(folder)
      if (siblings?.has(child)) return
      if (siblings) siblings.add(child)
      else this.#children.set(folder, new Set([child]))
    }
  }

  delete(path: string): void {
    this.#values.delete(path)
    for (let child = path; child !== '/' && !this.#values.has(child) && !this.#children.has(child); ) {
      const folder = folderOf(child)
      const siblings = this.#children.get(folder)
      siblings?.delete(child)
      if (siblings === undefined || siblings.size > 0) break
      this.#children.delete(folder)
      child = folder
    }
  }

  /** Whether no path below a folder has a value. */
  isEmpty(folder: string): boolean {
    return !this.#children.has(folder)
  }

  /** The paths of a folder and of everything below it that have a value. The tree may change meanwhile. */
  within(folder: string): string[] {
    const found = this.#values.has(folder) ? [folder] : []
    const folders = [folder]
    for (const each of folders) {
      for (const child of this.#children.get(each) ?? []) {
        if (this.#values.has(child)) found.push(child)
        if (this.#children.has(child)) folders.push(child)
      }
    }
    return found
  }
}
