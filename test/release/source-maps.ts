import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * Makes the source maps in a published `dist` point to the published `src` beside it. The compiler wrote paths to the sources
 * on the machine of the build.
 *
 * @param sources the folder of the sources on this machine
 */
export async function pointToSources(dist: string, sources: string): Promise<void> {
  for (const path of await readdir(dist, { recursive: true })) {
    if (!path.endsWith('.map')) continue
    const file = join(dist, path)
    const map = JSON.parse(await readFile(file, 'utf8')) as { sources: string[] }
    const published = (source: string) => {
      const within = relative(sources, resolve(dirname(file), source))
      return relative(dirname(join('dist', path)), join('src', within)).replaceAll('\\', '/')
    }
    await writeFile(file, JSON.stringify({ ...map, sources: map.sources.map(published) }))
  }
}
