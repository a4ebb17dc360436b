/** A configuration that cannot be used. The message has one line for each problem and contains no secret. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.name = 'ConfigurationError'
    this.problems = problems
  }
}

/** Throws a ConfigurationError when there are problems. */
export function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new ConfigurationError([...new Set(problems)])
}
