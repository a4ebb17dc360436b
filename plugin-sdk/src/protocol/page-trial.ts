/** The order to the document that tries a page. */
export interface TrialOrder {
  /** The address of the module. */
  readonly module: string
  /** The person who looks at the page. */
  readonly user: {
    readonly uuid: string
    readonly username: string
    readonly wallet: string
    readonly owner: boolean
  }
  /** Milliseconds until an element that stays empty counts as empty. */
  readonly emptyMs: number
}

/** The things that a page leaves behind in the document. */
export interface Remains {
  readonly elements: number
  readonly listeners: number
  readonly intervals: number
}

/** The findings of the document. */
export interface TrialReport {
  /** The type of the default export. */
  readonly exported: string
  /** The types of what the function returned, one for each time. */
  readonly returned: string[]
  /** Whether the element had content, for each time. */
  readonly hadContent: boolean[]
  /** The violations of the Content-Security-Policy. */
  readonly refused: string[]
  /** Errors that nobody has caught. */
  readonly errors: string[]
  /** After each time. */
  readonly remains: Remains[]
}
