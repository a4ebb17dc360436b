import { existsSync } from 'node:fs'
import { chmod, readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, relative } from 'node:path'
import { replaceFile } from '@nodekeep/plugin-sdk/durable-files'
import { applyEdits, modify, parse } from 'jsonc-parser'

/** Errors of a file that this account may not replace, or that is a mount of its own. */
const refusals: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY'])

/** A change of a configuration file. Comments, and everything else, stay as they are. */
interface ConfigurationChange {
  readonly path: readonly string[]
  /** `undefined` removes the key. */
  readonly value: unknown
}

/** A configuration file that names plugins. */
export class ConfigurationFile {
  readonly path: string

  /** @param path absolute; the file may be missing */
  constructor(path: string) {
    this.path = path
  }

  /** The file that a configuration extends to be this one; the default bundle without a file. */
  get preset(): string {
    return existsSync(this.path) ? this.path : 'nodekeep:default'
  }

  /** Returns the changes that name a plugin. An entry that is there keeps its other keys. */
  async naming(id: string, packageFolder: string): Promise<readonly ConfigurationChange[]> {
    const { plugins } = parse(await this.#text()) as { plugins?: Readonly<Record<string, unknown>> }
    const from = pathFrom(dirname(this.path), packageFolder)
    const entry = plugins?.[id]
    return typeof entry === 'object' && entry !== null
      ? [{ path: ['plugins', id, 'from'], value: from }]
      : [{ path: ['plugins', id], value: { from, required: false } }]
  }

  /** Returns the changes that remove those of some keys that the file has. */
  async without(paths: readonly (readonly string[])[]): Promise<readonly ConfigurationChange[]> {
    const root = parse(await this.#text())
    const isThere = (path: readonly string[]) =>
      path.reduce<unknown>((value, key) => Object(value)[key], root) !== undefined
    return paths.filter(isThere).map((path) => ({ path, value: undefined }))
  }

  /** @returns whether the file was written. If this account may not write it, nothing has changed. */
  async change(changes: readonly ConfigurationChange[]): Promise<boolean> {
    let text = await this.#text()
    for (const { path, value } of changes) {
      const formattingOptions = { insertSpaces: true, tabSize: 2, eol: '\n' }
      text = applyEdits(text, modify(text, [...path], value, { formattingOptions }))
    }
    try {
      const file = existsSync(this.path) ? await realpath(this.path) : this.path
      const { mode } = existsSync(file) ? await stat(file) : { mode: 0o644 }
      await replaceFile(file, text)
      await chmod(file, mode & 0o777)
      return true
    } catch (error) {
      if (refusals.has((error as NodeJS.ErrnoException).code)) return false
      throw error
    }
  }

  async #text(): Promise<string> {
    return existsSync(this.path) ? readFile(this.path, 'utf8') : '{\n  "extends": "nodekeep:default"\n}\n'
  }
}

/** Returns a path that is relative below the folder, so that the folder may be moved, and absolute elsewhere. */
function pathFrom(folder: string, path: string): string {
  const way = relative(folder, path)
  return way.startsWith('..') || isAbsolute(way) ? path : `./${way.replaceAll('\\', '/')}`
}
