import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * Lets the source maps in a folder of compiled files point to the sources beside it, as both are published: `dist` and
 * `src`. The compiler writes where they are on the machine that builds, as seen from where it puts them.
 *
 * @param sources where they are on this machine
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
