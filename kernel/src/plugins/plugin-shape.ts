import { isPlugin, type Plugin, type Requirement, tokenKey } from '@nodekeep/plugin-sdk'
import { PluginFailure } from './failure.ts'
import type { PluginManifest } from './manifest.ts'

/**
 * Checks what a plugin without types could get wrong, before any of it is used.
 *
 * @param source names the package, for the message
 * @throws PluginFailure in the phase `shape`
 */
export function checkPlugin(exported: unknown, manifest: PluginManifest, source: string): Plugin {
  if (!isPlugin(exported) || !isComplete(exported)) {
    throw new PluginFailure(
      'shape',
      `The default export of ${source} is not a plugin. Export what definePlugin returns, as default.`,
    )
  }
  if (exported.id !== manifest.id) {
    throw new PluginFailure(
      'shape',
      `${source} says "${manifest.id}" in its manifest and "${exported.id}" in definePlugin. Make them the same.`,
    )
  }
  checkDeclarations(exported)
  return exported
}

/** Whether it has what `definePlugin` gives: a brand can be forged. */
function isComplete({ setup, ...lists }: Plugin): boolean {
  const maps = [lists.requires, lists.optional, lists.contributes, lists.provides]
  return typeof setup === 'function' && maps.every((map) => typeof map === 'object' && map !== null)
}

/** @throws PluginFailure in the phase `shape` */
export function checkDeclarations(plugin: Plugin): void {
  const { requires, optional, contributes, provides } = plugin
  for (const [list, declared] of Object.entries({ requires, optional, contributes, provides })) {
    for (const [name, token] of Object.entries(declared)) checkToken(list, name, token)
  }
  for (const name of Object.keys(requires)) {
    if (name in optional) {
      throw new PluginFailure('shape', `It declares "${name}" in "requires" and in "optional". Keep one.`)
    }
  }
}

function checkToken(list: string, name: string, token: Partial<Requirement> | undefined): void {
  if (
    (token?.kind !== 'service' && token?.kind !== 'registry') ||
    typeof token.id !== 'string' ||
    typeof token.major !== 'number'
  ) {
    throw new PluginFailure(
      'shape',
      `It names "${name}" in "${list}" without a service or registry. Give what defineService or defineRegistry returns.`,
    )
  }
  const key = tokenKey({ id: token.id, major: token.major })
  if (list === 'contributes' && token.kind !== 'registry') {
    throw new PluginFailure('shape', `It contributes to "${name}", but ${key} is no registry.`)
  }
  if (list === 'provides' && token.kind !== 'service') {
    throw new PluginFailure('shape', `It provides "${name}", but ${key} is no service.`)
  }
}
