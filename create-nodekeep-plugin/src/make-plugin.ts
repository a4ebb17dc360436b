import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import validate from 'validate-npm-package-name'

/** The kinds of plugins, each with the example of the SDK that it begins as, and with the step that makes it a plugin of its own. */
const kinds = {
  ai: {
    example: 'ai-provider',
    description: 'An AI provider for Nodekeep.',
    next: 'Replace the protocol of the invented server Acme by that of your server.',
  },
  storage: {
    example: 'storage-backend',
    description: 'A storage backend for Nodekeep.',
    next: 'Replace the driver, which stores all files in one SQLite database, by your driver.',
  },
} as const

/** The names of the kinds. */
export const kindNames = Object.keys(kinds) as (keyof typeof kinds)[]

/** The folder of the examples: in the published package, or beside it in a checkout. */
const examples = ['../examples/', '../../examples/']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path))

/** The section of an example's README about copying the example. */
const aboutTheExample = 'Copy it'

/** Libraries and built files, which the examples have in a checkout. */
const notOfExample = /^(node_modules|dist)\b/

/**
 * Makes a plugin from the example of its kind.
 *
 * @param name the name of its package. Its last part is the name of the new folder.
 * @param into the folder in which the new one is made
 * @throws Error with one line that says what to do, before anything is written
 */
export async function makePlugin(
  kind: string,
  name: string,
  into: string,
): Promise<{ readonly folder: string; readonly id: string }> {
  const known = kindNames.find((each) => each === kind)
  if (known === undefined) throw new Error(`There is no kind "${kind}". Choose ${kindNames.join(' or ')}.`)
  const { validForNewPackages, errors = [], warnings = [] } = validate(name)
  const folder = name.replace(/^@.*\//, '')
  const words = folder
    .replace(/^nodekeep-/, '')
    .replace(new RegExp(`^${kind}-`), '')
    .match(/[a-z0-9]+/g)
  if (!validForNewPackages || words === null) {
    const [problem = 'it has no letter'] = [...errors, ...warnings]
    throw new Error(
      `"${name}" cannot be the name of a package: ${problem}. Choose a name such as my-${kind}.`,
    )
  }
  const target = join(into, folder)
  const content = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Error(`The folder ${folder} cannot be used (${error.code}). Choose another name.`)
  })
  if (content.length > 0)
    throw new Error(`The folder ${folder} is not empty. Choose another name, or empty it.`)

  const source = join(String(examples), kinds[known].example)
  const example: Manifest = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
  const base = words.join('-')
  const id = `${kind}-${base}`
  const rename = renaming(
    { name: example.name, id: example.nodekeep.id, base: example.nodekeep.id.replace(`${kind}-`, '') },
    { name, id, base },
  )
  const { description, next } = kinds[known]
  const edits: Readonly<Record<string, (text: string) => string>> = {
    'package.json': (text) => manifestOf(JSON.parse(text), description),
    'README.md': (text) =>
      readmeOf(
        text,
        name,
        `${description} It begins as the example of Nodekeep, and works as it is. ${next}`,
      ),
  }
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    const path = relative(source, join(entry.parentPath, entry.name))
    if (!entry.isFile() || notOfExample.test(path)) continue
    const text = rename(await readFile(join(source, path), 'utf8'))
    await mkdir(dirname(join(target, path)), { recursive: true })
    await writeFile(join(target, path), edits[path]?.(text) ?? text)
  }
  await writeFile(join(target, '.gitignore'), 'node_modules\ndist\n')
  return { folder, id }
}

/** The parts of an example's package.json that this program reads or changes. */
interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly nodekeep: { readonly id: string }
  readonly scripts: Readonly<Record<string, string>>
}

/** The names by which a plugin of this kind is known. */
interface Names {
  /** The name of its package. */
  readonly name: string
  /** The id of the plugin. */
  readonly id: string
  /** The name of the provider or of the backend, which stands in quotation marks. */
  readonly base: string
}

/** Returns a function that replaces the names of the example in a text. */
function renaming(from: Names, to: Names): (text: string) => string {
  const names = new RegExp(
    `${from.name}|${from.id}|${camelCase(from.id)}|(?<=(["'\`]))${from.base}(?=\\1)`,
    'g',
  )
  const replacements: Readonly<Record<string, string>> = {
    [from.name]: to.name,
    [from.id]: to.id,
    [camelCase(from.id)]: camelCase(to.id),
    [from.base]: to.base,
  }
  return (text) => text.replaceAll(names, (found) => replacements[found] ?? found)
}

function camelCase(id: string): string {
  return id.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function manifestOf({ private: _private, ...manifest }: Manifest, description: string): string {
  const scripts = { ...manifest.scripts, prepack: 'npm run build' }
  return `${JSON.stringify({ ...manifest, description, scripts }, null, 2)}\n`
}

function readmeOf(text: string, name: string, beginning: string): string {
  const sections = text.split(/^(?=## )/m).slice(1)
  const kept = sections.filter((section) => !section.startsWith(`## ${aboutTheExample}\n`))
  return `# ${name}\n\n${beginning}\n\n${kept.join('')}`
}
