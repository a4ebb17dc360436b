import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, NodeInfo, UpdateSource } from '@nodekeep/plugin-sdk'
import { configuration, repositoryUrl } from './configuration.ts'

/** The plugin `update-tuf`: releases from a repository of The Update Framework. */
export default definePlugin({
  id: 'update-tuf',
  description: 'Gets new versions from their publisher, and makes sure that nobody has changed them.',
  config: configuration,
  requires: { info: NodeInfo },
  provides: { source: UpdateSource },
  async setup({ config, info, dataDir, onServing }) {
    const url = config.url === undefined ? null : repositoryUrl(config.url)
    if (url === null) return { source: noSource }
    const root = rootFile(config.root, info)
    await requireRoot(root)
    const { TufSource } = await import('./tuf-source.ts')
    const source = new TufSource({ url, root, folder: dataDir, userAgent: `nodekeep/${info.version}` })
    onServing(() => source.removeLeft())
    return { source }
  },
})

const noSource: UpdateSource = {
  isConfigured: false,
  latest: async () => null,
  async download() {
    throw new Error('There is no source of updates, so it has no release.')
  },
}

/** @throws Error with one line for a person */
function rootFile(configured: string | undefined, info: NodeInfo): string {
  if (configured !== undefined) return configured
  if (info.installation === 'release') return join(info.folder, 'trusted-root.json')
  throw new Error(
    'update-tuf.root is missing: only a release brings the root keys of its repository. Name the file `metadata/1.root.json` of the repository, as you got it from its publisher.',
  )
}

/** @throws Error with one line for a person */
async function requireRoot(file: string): Promise<void> {
  try {
    const { signed } = JSON.parse(await readFile(file, 'utf8'))
    if (signed._type === 'root') return
  } catch {
    // The message says what to do.
  }
  throw new Error(
    `The file ${file} has no root keys of a repository. Name such a file in update-tuf.root: \`metadata/1.root.json\` of the repository.`,
  )
}
