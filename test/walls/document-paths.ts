import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownerOf } from './import-graph.ts'
import type { Package } from './packages.ts'

/** Documents that also tell what was. */
const historical = ['CHANGELOG.md', 'plugin-sdk/UPGRADING.md']

/** Files that readers of a document write themselves. */
const ofReaders = ['greeting/index.ts', 'math.ts', 'test/visits.test.ts']

/** The target of a link to another file, without the name of a heading. */
const link = /\]\((?!\w+:)([^)#\s]+)(?:#[^)]*)?\)/g

/** A path within the repository, or within a package. */
const path =
  /`((?:(?:plugins|examples)\/[\w-]+\/)?(?:\.ci|config|kernel|plugin-sdk|src|test|bundle)\/[\w./-]*\w|(?:plugins|examples)\/[\w-]+)`/g

/** The end of the path of a source. */
const source = /`([\w./-]*\w\.ts)`/g

/**
 * Checks that the files and folders are there that documents name: in links, and as code from the root or from their package. A path
 * such as `src/index.ts` in a document of the root is one that a package has.
 *
 * @returns one line for each path that is not there
 */
export function checkDocumentPaths(
  root: string,
  packages: readonly Package[],
  sources: readonly string[],
): string[] {
  const documents = globSync('**/*.md', { cwd: root, exclude: (name) => /(^|\/)node_modules$/.test(name) })
  return documents
    .filter((document) => !historical.includes(document))
    .sort()
    .flatMap((document) => {
      const text = readFileSync(join(root, document), 'utf8')
      const missing = (pattern: RegExp, isThere: (name: string) => boolean) =>
        Array.from(text.matchAll(pattern), ([, name = '']) => name).filter((name) => !isThere(name))
      const { folder } = ownerOf(packages, document)
      const folders = folder === '' ? packages.map((each) => each.folder) : ['', folder]
      const names = new Set([
        ...missing(link, (name) => existsSync(join(root, dirname(document), name))),
        ...missing(path, (name) => folders.some((each) => existsSync(join(root, each, name)))),
        ...missing(source, (name) => sources.some((file) => `/${file}`.endsWith(`/${name}`))),
      ])
      return [...names]
        .filter((name) => !ofReaders.includes(name))
        .map((name) => `${document}: there is no "${name}"`)
    })
}
