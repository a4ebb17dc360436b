import { join, relative, resolve } from 'node:path'
import { messageOf } from '@nodekeep/plugin-sdk'
import { writeJson } from '@nodekeep/plugin-sdk/durable-files'
import { type AddedPlugin, AddedPlugins } from './added-plugins.ts'
import { ConfigurationFile } from './configuration-file.ts'
import { checkDeep, type DescribedPlugin, listPlugins } from './node-commands.ts'
import { type InstalledPackage, installPackage, type NewPackage, newestOf } from './npm-packages.ts'
import type { PluginManifest, PluginsOptions, Terminal } from './plugins-options.ts'

/**
 * `nodekeep plugins add`. No code of the package runs before the person has agreed. The configuration names the plugin only after the
 * node has started with it on trial.
 *
 * @throws Error with what prevents it; nothing has changed then
 */
export async function add(spec: string, options: PluginsOptions, terminal: Terminal): Promise<void> {
  const { output } = terminal
  const [data, present] = await Promise.all([terminal.dataFolder(options), listPlugins(options)])
  const added = new AddedPlugins(data)
  const file = fileOf(options)
  await added.withNewFolder(async (folder) => {
    output.lines(`Fetching ${spec} …`)
    const installed = join(folder, 'installed')
    const fetched = await installPackage(spec, installed, join(folder, 'cache'))
    const manifest = await manifestOf(fetched, terminal)
    const { id } = manifest
    refuseOther(id, fetched, present, added)
    output.lines('', ...manifestLines(manifest, fetched), '')
    await agree('Start the node with it on trial, on an empty data folder?', options, terminal)

    const trial = join(folder, 'nodekeep.json')
    const plugins = { [id]: { from: fetched.folder, required: false } }
    await writeJson(trial, { extends: file.preset, plugins })
    output.lines('Trying the plugin …')
    const { plugins: started, warnings } = await checkDeep({ data, config: trial }, output, id)
    output.lines(
      'The trial start succeeded.',
      ...warnings.map((warning) => `Warning: ${warning}`),
      ...declarationLines(started.find((plugin) => plugin.id === id)),
    )
    await agree(`Add it to ${file.path}?`, options, terminal)

    const place = join(added.folderOf(id), relative(installed, fetched.folder))
    const changes = await file.naming(id, place)
    const isWritten = await added.place(id, installed, () => file.change(changes))
    if (isWritten) output.lines(`${file.path} names "${id}" now. Start the node again to use it.`)
    else
      output.lines(
        `This account may not write ${file.path}. Write this into it, then start the node again:`,
        ...JSON.stringify({ plugins: { [id]: { from: place, required: false } } }, null, 2).split('\n'),
      )
  })
}

/**
 * `nodekeep plugins remove`
 *
 * @throws Error with what prevents it; nothing has changed then
 */
export async function remove(name: string, options: PluginsOptions, terminal: Terminal): Promise<void> {
  const { output } = terminal
  const [data, present] = await Promise.all([terminal.dataFolder(options), listPlugins(options)])
  const added = new AddedPlugins(data)
  const file = fileOf(options)
  const plugin = (await added.list()).find((plugin) => plugin.id === name || plugin.name === name)
  if (plugin === undefined)
    throw new Error(
      `No added plugin is called "${name}". "nodekeep plugins outdated" lists those that were added.`,
    )
  const { id } = plugin
  const named = present.find((plugin) => plugin.id === id)
  const { section } = await manifestOf(plugin, terminal).catch(() => ({ section: id }))
  await added.withNewFolder(async (folder) => {
    const trial = join(folder, 'nodekeep.json')
    await writeJson(trial, { extends: file.preset, plugins: { [id]: null } })
    await checkDeep({ data, config: trial }, output)
    const changes = await file.without([['plugins', id], [section]])
    if (named !== undefined && !changes.some(({ path }) => path[0] === 'plugins'))
      throw new Error(
        `"${id}" is named in ${named.configuredAt}. Remove it there, then run this command again.`,
      )
    const keys = changes.map(({ path }) => `"${path.join('.')}"`).join(' and ')
    if (changes.length > 0 && !(await file.change(changes)))
      throw new Error(
        `This account may not write ${file.path}. Remove ${keys} there, then run this command again.`,
      )
    await added.remove(id)
    output.lines(
      ...(changes.length > 0 ? [`Removed ${keys} from ${file.path}.`] : []),
      `"${id}" (${plugin.name} ${plugin.version}) was removed. Its data stays in ${join(data, 'plugins', id)}. A node that runs uses it until it is started again.`,
    )
  })
}

/** `nodekeep plugins outdated` */
export async function outdated(options: PluginsOptions, { output, dataFolder }: Terminal): Promise<void> {
  const added = new AddedPlugins(await dataFolder(options))
  const plugins = await added.list()
  if (plugins.length === 0) return output.table([], 'No plugin was added.')
  const rows = await added.withNewFolder((cache) =>
    Promise.all(plugins.map(async (plugin) => rowOf(plugin, cache))),
  )
  output.table(rows, 'No plugin was added.')
}

async function rowOf(plugin: AddedPlugin, cache: string): Promise<Readonly<Record<string, unknown>>> {
  const newest = await newestOf(plugin, cache)
  const { id, name, version } = plugin
  return { id, package: name, version, newest: newest?.version ?? null, sdk: newest?.sdk ?? null }
}

function fileOf({ config = 'nodekeep.json' }: PluginsOptions): ConfigurationFile {
  return new ConfigurationFile(resolve(config))
}

/** @throws Error if the package is no plugin, or if a field of its manifest is wrong */
async function manifestOf(
  { name, version, folder }: InstalledPackage,
  { readManifest }: Terminal,
): Promise<PluginManifest> {
  const path = join(folder, 'package.json')
  try {
    return await readManifest(path)
  } catch (error) {
    // The folder is removed when the command ends.
    throw new Error(`${name} ${version}: ${messageOf(error).replace(path, 'package.json')}`)
  }
}

/**
 * A package may give itself any name, so only a plugin that was added is replaced.
 *
 * @throws Error if the configuration has another plugin with the id
 */
function refuseOther(
  id: string,
  { name }: InstalledPackage,
  present: readonly DescribedPlugin[],
  added: AddedPlugins,
): void {
  const same = present.find((plugin) => plugin.id === id)
  if (same === undefined || same.package === null || (same.package === name && added.has(id))) return
  throw new Error(
    `The configuration has a plugin "${id}" already: ${same.package} (${same.configuredAt}). Give ${name} another id by hand: "plugins": { "ID": { "from": … } }.`,
  )
}

/** @throws Error if the person does not agree */
async function agree(question: string, { yes }: PluginsOptions, { confirm }: Terminal): Promise<void> {
  if (yes === true || (await confirm(question))) return
  throw new Error('Nothing was changed. With --yes, the command does not ask.')
}

/** Returns lines with what the package says about itself, before any of its code has run. */
function manifestLines({ id, sdk, folders, commands }: PluginManifest, fetched: NewPackage): string[] {
  const { name, version, description, needed } = fetched
  return [
    `"${id}": ${name} ${version}`,
    ...(description === '' ? [] : [`  ${description}`]),
    `  works with SDK ${sdk}, needs ${needed === 0 ? 'no other package' : `other packages: ${needed}`}`,
    ...listed(
      'has the commands',
      Object.keys(commands?.list ?? {}).map((name) => `nodekeep ${id} ${name}`),
    ),
    ...listed('keeps files in', [...folders.values()]),
    'A plugin can do everything that the node can. None of its code has run yet.',
  ]
}

/** The people who may call a route, by its access. */
const people: Readonly<Record<string, string>> = { user: 'signed-in users', owner: 'the owner' }

/** Returns lines with what the plugin has declared during the trial start. */
function declarationLines(plugin: DescribedPlugin | undefined): string[] {
  if (plugin === undefined) return []
  const { requires, optional, provides, contributes, routes } = plugin
  return [
    ...listed('requires', requires),
    ...listed('can use', optional),
    ...listed('provides', provides),
    ...listed('contributes to', contributes),
    // Fastify adds HEAD to each route of GET.
    ...routes.filter(({ method }) => method !== 'HEAD').map(routeLine),
  ]
}

function routeLine({ method, path, access, publicReason, scope }: DescribedPlugin['routes'][number]): string {
  const who = access === 'public' ? `everybody (${publicReason})` : people[access]
  return `  route ${method} ${path}: for ${who}${scope === null ? '' : `, and tokens with the scope ${scope}`}`
}

function listed(label: string, values: readonly string[]): string[] {
  return values.length === 0 ? [] : [`  ${label} ${values.join(', ')}`]
}
