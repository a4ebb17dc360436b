import { type BaseContext, type Plugin, tokenKey } from '@nodekeep/plugin-sdk'
import type { Contributions } from '../services/contributions.ts'
import { createRegistryReader, type Registries } from '../services/registry.ts'
import type { ServiceDirectory } from '../services/service-directory.ts'
import type { Activation } from './activation.ts'
import { PluginFailure } from './failure.ts'

/** What the kernel has at hand for the context of one plugin. */
export interface ContextParts {
  readonly plugin: Plugin
  readonly base: Omit<BaseContext<unknown>, 'signal' | 'onStart' | 'onStop'>
  readonly activation: Activation
  readonly registries: Registries
  readonly services: ServiceDirectory
  readonly contributions: Contributions
}

/** Builds what `setup` gets: the base, and what the plugin declared under the names that it chose. */
export function createSetupContext(parts: ContextParts): BaseContext<unknown> {
  const { plugin, activation, registries, services, contributions } = parts
  const base: BaseContext<unknown> = {
    ...parts.base,
    signal: activation.signal,
    onStart: (hook) => activation.onStart(hook),
    onStop: (hook) => activation.onStop(hook),
  }
  const declared = new Map<string, unknown>()
  const declare = (name: string, value: unknown) => {
    if (name in base || declared.has(name)) {
      throw new PluginFailure(
        'shape',
        `It declares the name "${name}" twice, or one that every setup context has.`,
      )
    }
    declared.set(name, value)
  }
  for (const [name, token] of Object.entries({ ...plugin.optional, ...plugin.requires })) {
    const key = tokenKey(token)
    const reader = () =>
      createRegistryReader(registries.entries(key), (dispose) => activation.onDispose(dispose))
    declare(name, token.kind === 'registry' ? reader() : services.get(key))
  }
  for (const [name, token] of Object.entries(plugin.contributes)) {
    declare(name, contributions.writer(tokenKey(token)))
  }
  return { ...base, ...Object.fromEntries(declared) }
}
