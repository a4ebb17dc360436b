/** `npm run build`: builds `dist/` of every workspace: JavaScript with declarations and source maps. */

import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runTool } from '../run/command.ts'
import { type Package, readPackages } from '../walls/packages.ts'
import { pointToSources } from './source-maps.ts'
import { copyVendored, vendoredLibraries } from './vendor.ts'

/** The packages to build: all but the root, and the clients, which run from their sources. */
export function workspaces(): Package[] {
  return readPackages(root).filter(({ kind }) => kind !== 'root' && kind !== 'client')
}

/**
 * Compiles every workspace into `<into>/<its folder>/dist`, and removes the old content first. The packages are compiled
 * against the built declarations of the packages that they depend on, as for those who install them.
 *
 * @throws an error with the compiler's output if a package does not compile
 */
export async function buildWorkspaces(into: string): Promise<void> {
  const packages = workspaces()
  for (const entry of packages) {
    const built = join(into, entry.folder)
    await rm(join(built, 'dist'), { recursive: true, force: true })
    await copyVendored(entry, built)
  }
  const paths = Object.assign({}, ...packages.map((entry) => declarations(entry, into)))
  const sdk = packages.filter(({ kind }) => kind === 'sdk')
  const others = packages.filter(({ kind }) => kind !== 'sdk')
  const plugins = new Set(others.flatMap(({ kind, manifest }) => (kind === 'plugin' ? manifest.name : [])))
  const dependents = others.filter(({ manifest: { dependencies, devDependencies } }) =>
    Object.keys({ ...dependencies, ...devDependencies }).some((name) => plugins.has(name)),
  )
  const independent = others.filter((entry) => !dependents.includes(entry))
  for (const together of [sdk, independent, dependents]) {
    if (together.length > 0) await compile(together, into, paths)
  }
}

/**
 * Compiles packages in one call, so that the compiler reads shared libraries once. A second call compiles their browser code,
 * which has other types.
 */
async function compile(
  packages: readonly Package[],
  into: string,
  paths: Record<string, string[]>,
): Promise<void> {
  const compiled = await mkdtemp(join(into, 'compiled-'))
  const run = async (include: readonly string[], exclude: readonly string[], options: object) => {
    const project = join(compiled, 'tsconfig.json')
    const config = {
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: {
        rootDir: root,
        outDir: compiled,
        typeRoots: [join(root, 'node_modules/@types')],
        paths,
        ...options,
      },
      include,
      exclude,
    }
    await writeFile(project, JSON.stringify(config))
    const { ok, output } = await runTool('tsc', ['--project', project])
    if (!ok) throw new Error(`The packages do not compile:\n${output}`)
  }
  try {
    const sources = packages.map(({ folder }) => join(root, folder, 'src'))
    const browser = sources.map((folder) => join(folder, 'browser'))
    await run(sources, browser, {})
    const present = browser.filter((folder) => existsSync(folder))
    if (present.length > 0) await run(present, [], await browserOptions())
    for (const { folder } of packages) {
      await pointToSources(join(compiled, folder, 'src'), join(root, folder, 'src'))
      await moveInto(join(compiled, folder, 'src'), join(into, folder, 'dist'))
    }
  } finally {
    await rm(compiled, { recursive: true, force: true })
  }
}

/** The options in which the types of browser code differ. */
async function browserOptions(): Promise<object> {
  const { compilerOptions } = JSON.parse(await readFile(join(root, 'tsconfig.browser.json'), 'utf8'))
  return compilerOptions
}

/** Moves the content of a folder into another one, which may have content already. */
async function moveInto(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) await rename(join(from, name), join(to, name))
}

/** The paths of the built declarations of a package: of its exports, and of its vendored libraries. */
function declarations({ folder, manifest }: Package, into: string): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const [path, target] of Object.entries(manifest.exports ?? {})) {
    const types = typeof target === 'string' ? undefined : target.types
    if (types) found[join(manifest.name, path).replaceAll('\\', '/')] = [join(into, folder, types)]
  }
  for (const { specifier, declarations } of vendoredLibraries(manifest)) {
    found[specifier] = [join(into, folder, declarations)]
  }
  return found
}

if (import.meta.main) await buildWorkspaces(root)
