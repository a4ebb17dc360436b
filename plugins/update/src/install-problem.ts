import type { NodeInfo, UpdateSource } from '@nodekeep/plugin-sdk'
import type { NodeReleases } from './releases/node-releases.ts'

interface Installation {
  readonly info: Pick<NodeInfo, 'installation'>
  readonly releases: Pick<NodeReleases, 'folder'>
  readonly source: Pick<UpdateSource, 'isConfigured'> | undefined
}

/** Returns why this node cannot install updates by itself, and what to do instead; `null` if it can. */
export function installProblem({ info, releases, source }: Installation): string | null {
  if (info.installation === 'sources')
    return 'This node runs from its sources. Update them with "git pull" and "npm ci", then start the node again.'
  if (info.installation === 'packages')
    return 'This node runs from npm packages. Update them with "npm update" in their folder, then start the node again.'
  if (releases.folder === null)
    return 'No supervisor runs this node, so nothing could change its version. Stop it, and start it with "bin/nodekeep supervise".'
  if (source?.isConfigured !== true)
    return 'No source of updates is configured. For "update-tuf", set update-tuf.url to the address of a repository.'
  return null
}
