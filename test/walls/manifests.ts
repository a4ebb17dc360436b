import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Package } from './packages.ts'

/**
 * Checks that packages are complete. A plugin names its id, its SDK range and its entry, has the SDK as a peer dependency,
 * and has a README, sources and tests. A published package exports sources to this repository and built files to others. Its
 * entry `/client` is code of the folder `client` or `browser`. Its commands are programs that the package contains.
 *
 * @returns one line for each package that breaks a rule
 */
export function checkManifests(root: string, packages: readonly Package[]): string[] {
  return packages
    .filter(({ kind }) => kind !== 'root')
    .flatMap((entry) =>
      [
        ...checkPlugin(root, entry),
        ...checkProgram(root, entry),
        ...checkExports(entry),
        ...checkCommands(root, entry),
      ].map((breach) => `${entry.folder}/package.json: ${breach}`),
    )
}

function* checkPlugin(root: string, { kind, folder, manifest }: Package): Iterable<string> {
  if (kind !== 'plugin' && kind !== 'example') return
  const { id, sdk, entry } = manifest.nodekeep ?? {}
  if (!id || !entry) yield 'say nodekeep.id and nodekeep.entry'
  if (kind === 'plugin' && id && `plugins/${id}` !== folder)
    yield `nodekeep.id is "${id}", but the folder is not plugins/${id}`
  if (!sdk) yield 'say in nodekeep.sdk which versions of the SDK it works with'
  if (!manifest.peerDependencies?.['@nodekeep/plugin-sdk'])
    yield '@nodekeep/plugin-sdk must be a peer dependency'
  if (manifest.dependencies?.['@nodekeep/plugin-sdk'])
    yield '@nodekeep/plugin-sdk must not be a dependency of its own'
  for (const part of ['README.md', 'src', 'test']) {
    if (!existsSync(join(root, folder, part))) yield `${part} is missing beside it`
  }
}

function* checkProgram(root: string, { kind, folder }: Package): Iterable<string> {
  if (kind !== 'client' && kind !== 'scaffold') return
  for (const part of ['README.md', 'test']) {
    if (!existsSync(join(root, folder, part))) yield `${part} is missing beside it`
  }
}

function* checkExports({ kind, manifest }: Package): Iterable<string> {
  if (manifest.private) return
  const entries = Object.entries(manifest.exports ?? {})
  if (entries.length === 0) yield 'a published package needs exports'
  for (const [path, target] of entries) {
    if (path === './package.json') continue
    const source = typeof target === 'string' ? undefined : target['nodekeep-source']
    const built = source?.replace(/^\.\/src\/(.*)\.ts$/, './dist/$1')
    const { types, default: code } = typeof target === 'string' ? ({} as Record<string, string>) : target
    if (!built || types !== `${built}.d.ts` || code !== `${built}.js`) {
      yield `exports["${path}"] must have nodekeep-source in src, and types and default of the same name in dist`
    }
    // The SDK has types for browser code, and no client.
    if (kind !== 'sdk' && (path === './client') !== /^\.\/src\/(client|browser)\//.test(source ?? '')) {
      yield `exports["./client"], and no other entry, must lead to src/client or src/browser, unlike exports["${path}"]`
    }
  }
}

function* checkCommands(root: string, { folder, manifest }: Package): Iterable<string> {
  for (const [name, path] of Object.entries(manifest.bin ?? {})) {
    const file = join(root, folder, path)
    if (!existsSync(file)) {
      yield `bin["${name}"] leads to no file`
      continue
    }
    if (!readFileSync(file, 'utf8').startsWith('#!/usr/bin/env node\n'))
      yield `bin["${name}"] must begin with #!/usr/bin/env node`
    if ((statSync(file).mode & 0o111) === 0) yield `bin["${name}"] must be executable (chmod +x)`
    const [top = ''] = path.replace('./', '').split('/')
    if (!manifest.files?.includes(top)) yield `bin["${name}"] is not published: "files" lacks "${top}"`
  }
}
