import { refuse } from './error.ts'
import { reservedNames } from './kernel-schema.ts'

/** A plugin's claim on a section of the configuration. */
export interface SectionClaim {
  readonly plugin: string
  readonly section: string
}

/**
 * Refuses two claims on one section, and claims on sections of the kernel.
 *
 * @throws ConfigurationError with one line for each section
 */
export function checkSectionClaims(claims: Iterable<SectionClaim>): void {
  const problems: string[] = []
  for (const [section, claimants] of Map.groupBy(claims, (claim) => claim.section)) {
    const names = claimants.map(({ plugin }) => `"${plugin}"`)
    const who =
      names.length === 1 ? `The plugin ${names[0]} claims` : `The plugins ${names.join(' and ')} claim`
    if (reservedNames.has(section)) {
      problems.push(
        `${who} the section "${section}", which is the kernel's. Remove the plugin from "plugins".`,
      )
    } else if (names.length > 1) {
      problems.push(`${who} the same section "${section}". Keep one of them in "plugins".`)
    }
  }
  refuse(problems)
}
