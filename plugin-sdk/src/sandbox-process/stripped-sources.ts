import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The modules that this process has written, by their folders. */
const written = new Map<string, string>()
let place: string | undefined

/**
 * Writes a module that gives a sandbox its sources without their types. Otherwise each sandbox and each of its threads would load
 * Node's compiler of TypeScript, which takes most of the time of a start. Node keeps compiled code, but not for sandboxes: they may
 * write nothing.
 *
 * @param folders absolute paths of the folders with TypeScript
 * @returns the path of the module. The sandbox imports it before all others.
 */
export function strippedSources(folders: readonly string[]): string {
  const key = folders.join('\n')
  const known = written.get(key)
  if (known !== undefined) return known
  place ??= newPlace()
  const path = join(place, `sources-${written.size}.mjs`)
  writeFileSync(path, moduleOf(Object.fromEntries(folders.flatMap(sourcesIn))))
  written.set(key, path)
  return path
}

function newPlace(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nodekeep-sources-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Returns the sources in a folder, each with its URL. */
function sourcesIn(folder: string): (readonly [url: string, source: string])[] {
  const real = realpathSync(folder)
  return readdirSync(real, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => {
      const path = join(real, name)
      return [pathToFileURL(path).href, stripTypeScriptTypes(readFileSync(path, 'utf8'))] as const
    })
}

function moduleOf(sources: Readonly<Record<string, string>>): string {
  return `import { registerHooks } from 'node:module'

const sources = ${JSON.stringify(sources)}
registerHooks({
  load: (url, context, nextLoad) =>
    Object.hasOwn(sources, url)
      ? { format: 'module', source: sources[url], shortCircuit: true }
      : nextLoad(url, context),
})
`
}
