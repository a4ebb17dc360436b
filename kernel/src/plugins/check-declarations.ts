import { type Plugin, type Requirement, tokenKey } from '@nodekeep/plugin-sdk'
import { PluginFailure } from './failure.ts'

/**
 * Checks the declarations of a plugin, which a plugin without types may get wrong.
 *
 * @throws PluginFailure in the phase `shape`
 */
export function checkDeclarations(plugin: Plugin): void {
  const { config, requires, optional, contributes, provides } = plugin
  if (config !== null && config?.type !== 'object') {
    throw new PluginFailure('shape', 'Its "config" is not the schema of an object. Use Type.Object({ … }).')
  }
  for (const [list, declared] of Object.entries({ requires, optional, contributes, provides })) {
    for (const [name, token] of Object.entries(declared)) checkToken(list, name, token)
  }
  for (const name of Object.keys(requires)) {
    if (name in optional) {
      throw new PluginFailure(
        'shape',
        `It declares "${name}" in "requires" and in "optional". Remove one of them.`,
      )
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
      `The value of "${name}" in its "${list}" is not a service or registry. Use the result of defineService or defineRegistry.`,
    )
  }
  const key = tokenKey({ id: token.id, major: token.major })
  if (list === 'contributes' && token.kind !== 'registry') {
    throw new PluginFailure('shape', `It contributes to "${name}", but ${key} is not a registry.`)
  }
  if (list === 'provides' && token.kind !== 'service') {
    throw new PluginFailure('shape', `It provides "${name}", but ${key} is not a service.`)
  }
}
