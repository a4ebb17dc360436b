/** The pattern of a username, for schemas. It is plain, so that no name looks like another one. */
export const usernamePattern = '^[a-z0-9][a-z0-9_-]{2,29}$'
