/** `npm run build`: builds `dist/` of every workspace: JavaScript with declarations and source maps. */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
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
 * Compiles every workspace into `<into>/<its folder>/dist`, after removing what was there. The packages see each
 * other's declarations as built, the way those who install them do.
 *
 * @throws with the compiler's output when one does not compile
 */
export async function buildWorkspaces(into: string): Promise<void> {
  const packages = workspaces()
  const paths = Object.assign({}, ...packages.map((entry) => declarations(entry, into)))
  await inParallel(
    packages.filter(({ kind }) => kind === 'sdk'),
    build,
  )
  await inParallel(
    packages.filter(({ kind }) => kind !== 'sdk'),
    build,
  )

  async function build(entry: Package): Promise<void> {
    const dist = join(into, entry.folder, 'dist')
    await rm(dist, { recursive: true, force: true })
    await mkdir(dist, { recursive: true })
    await copyVendored(entry, join(into, entry.folder))
    await compile(entry, dist, paths)
    await pointToSources(dist, join(root, entry.folder, 'src'))
  }
}

/** Does something with every value, with as many at once as there are processors. Nothing runs on when it rejects. */
async function inParallel<T>(values: readonly T[], work: (value: T) => Promise<void>): Promise<void> {
  const queue = values.values()
  const worker = async () => {
    for (const value of queue) await work(value)
  }
  const ends = await Promise.allSettled(Array.from({ length: availableParallelism() }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function compile({ folder }: Package, dist: string, paths: Record<string, string[]>): Promise<void> {
  const project = join(dist, 'tsconfig.json')
  const config = {
    extends: join(root, 'tsconfig.build.json'),
    compilerOptions: {
      rootDir: join(root, folder, 'src'),
      outDir: dist,
      typeRoots: [join(root, 'node_modules/@types')],
      paths,
    },
    include: [join(root, folder, 'src')],
    exclude: [],
  }
  await writeFile(project, JSON.stringify(config))
  const { ok, output } = await runTool('tsc', ['--project', project])
  await rm(project)
  if (!ok) throw new Error(`${folder} does not compile:\n${output}`)
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
