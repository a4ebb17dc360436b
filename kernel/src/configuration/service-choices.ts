import { formatKey } from './key.ts'
import { describeOrigin } from './origin.ts'
import { originAt, type Tree } from './tree.ts'

/** That one plugin, and no other, is to provide a service. */
export interface ServiceChoice {
  /** The service's id, without its major version. */
  readonly service: string
  /** The plugin's id. */
  readonly plugin: string
  /** The key and what sets it, for messages: `services.files (config/default.json:12)`. */
  readonly where: string
}

/** The choices of the merged and validated section `services`, in its order. */
export function serviceChoices(values: Readonly<Record<string, string>>, tree: Tree): ServiceChoice[] {
  return Object.entries(values).map(([service, plugin]) => {
    const where = `${formatKey(['services', service])} (${describeOrigin(originAt(tree, [service]))})`
    return { service, plugin, where }
  })
}
