/** A thread that reads the module of a page without a browser. It needs `--experimental-vm-modules`. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Module, SourceTextModule, SyntheticModule } from 'node:vm'
import { answerInThread } from '../../threads.ts'

/** The module of a page. */
export interface PageModule {
  /** The name of the page. */
  readonly name: string
  readonly folder: string
  /** The path within the folder. */
  readonly module: string
}

/** The findings about the module of a page. */
export interface ReadModule {
  /** The reason why a browser would not load the module; `null` if it would. */
  readonly problem: string | null
  readonly hasDefault: boolean
  /** The type of the default export; `null` if the module runs in a browser only. */
  readonly defaultType: string | null
}

await answerInThread(readModule)

async function readModule({ name, folder, module: main }: PageModule): Promise<ReadModule> {
  const base = `http://node.invalid/pages/${encodeURIComponent(name)}/`
  const modules = new Map<string, Promise<Module>>()
  const load = (path: string): Promise<Module> => {
    const loading = modules.get(path) ?? compile(path)
    modules.set(path, loading)
    return loading
  }
  const compile = async (path: string): Promise<Module> => {
    const source = await readFile(join(folder, path), 'utf8')
    if (!path.endsWith('.json')) return new SourceTextModule(source, { identifier: path })
    const json = new SyntheticModule(['default'], () => json.setExport('default', JSON.parse(source)))
    return json
  }
  const pathOf = (specifier: string, importing: string): string => {
    if (!/^(\.{0,2}\/|[a-z]+:)/i.test(specifier))
      throw new Error(
        `${importing} imports the package "${specifier}". Bundle it: a browser finds no packages.`,
      )
    const url = new URL(specifier, base + importing)
    if (!url.href.startsWith(base))
      throw new Error(`${importing} imports ${specifier}, which is not in the folder of the page.`)
    return decodeURIComponent(url.pathname.slice(new URL(base).pathname.length))
  }
  let loaded: Module
  try {
    loaded = await load(main)
    await loaded.link((specifier, { identifier }) => load(pathOf(specifier, identifier)))
  } catch (error) {
    return { problem: String(error), hasDefault: false, defaultType: null }
  }
  const hasDefault = 'default' in loaded.namespace
  const runs = await loaded.evaluate().then(
    () => true,
    () => false,
  )
  const { default: exported } = runs ? (loaded.namespace as { default?: unknown }) : {}
  return { problem: null, hasDefault, defaultType: runs ? typeof exported : null }
}
