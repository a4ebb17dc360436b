/** `npm run build`: builds `dist/` of every workspace: JavaScript with declarations and source maps. */
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { root, runTool } from '../run/command.ts'
import { type Package, readPackages } from '../walls/packages.ts'
import { pointToSources } from './source-maps.ts'
import { copyVendored, vendoredLibraries } from './vendor.ts'

/** The packages of the repository that are built: not its root, and not the clients, which are run as they are. */
export function workspaces(): Package[] {
  return readPackages(root).filter(({ kind }) => kind !== 'root' && kind !== 'client')
}

/**
 * Compiles every workspace into `<into>/<its folder>/dist`, after removing what was there. The packages see the
 * declarations of the SDK as built, the way those who install them do.
 *
 * @throws with the compiler's output when one does not compile
 */
export async function buildWorkspaces(into: string): Promise<void> {
  const packages = workspaces()
  for (const entry of packages) {
    const built = join(into, entry.folder)
    await rm(join(built, 'dist'), { recursive: true, force: true })
    await copyVendored(entry, built)
  }
  const isSdk = ({ kind }: Package) => kind === 'sdk'
  const paths = Object.assign({}, ...packages.map((entry) => declarations(entry, into)))
  for (const together of [packages.filter(isSdk), packages.filter((entry) => !isSdk(entry))]) {
    await compile(together, into, paths)
  }
}

/** Compiles packages in one go, so that the libraries that they share are read once. */
async function compile(
  packages: readonly Package[],
  into: string,
  paths: Record<string, string[]>,
): Promise<void> {
  const compiled = await mkdtemp(join(into, 'compiled-'))
  try {
    const project = join(compiled, 'tsconfig.json')
    const config = {
      extends: join(root, 'tsconfig.build.json'),
      compilerOptions: {
        rootDir: root,
        outDir: compiled,
        typeRoots: [join(root, 'node_modules/@types')],
        paths,
      },
      include: packages.map(({ folder }) => join(root, folder, 'src')),
      exclude: [],
    }
    await writeFile(project, JSON.stringify(config))
    const { ok, output } = await runTool('tsc', ['--project', project])
    if (!ok) throw new Error(`The packages do not compile:\n${output}`)
    for (const { folder } of packages) {
      await pointToSources(join(compiled, folder, 'src'), join(root, folder, 'src'))
      await moveInto(join(compiled, folder, 'src'), join(into, folder, 'dist'))
    }
  } finally {
    await rm(compiled, { recursive: true, force: true })
  }
}

/** Moves what is in a folder into one that may hold other things already. */
async function moveInto(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const name of await readdir(from)) await rename(join(from, name), join(to, name))
}

/** Where the compiler finds the built declarations of a package: of its exports, and of what it vendors. */
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
