import {
  NodekeepError,
  type NodeReleases,
  type ReleaseAttempt,
  type ReleaseCheck,
  type WayBack,
} from '@nodekeep/plugin-sdk'

/** Changes the release of the node. */
export class KernelReleases implements NodeReleases {
  readonly folder = null

  async prepare(): Promise<string> {
    throw noSupervisor()
  }

  async check(): Promise<ReleaseCheck> {
    throw noSupervisor()
  }

  async changeTo(): Promise<void> {
    throw noSupervisor()
  }

  async goBack(): Promise<void> {
    throw noSupervisor()
  }

  async wayBack(): Promise<WayBack | null> {
    return null
  }

  async history(): Promise<readonly ReleaseAttempt[]> {
    return []
  }
}

function noSupervisor(): NodekeepError {
  return new NodekeepError(
    'CONFLICT',
    'The release of this node is changed by hand, because no supervisor runs the node. Stop it, and start the new release with "bin/nodekeep supervise"; later updates then need no hand.',
  )
}
