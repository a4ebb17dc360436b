/** The form of a user name, as `PATCH /api/account` and `POST /api/users` take it. `texts.account.nameHint` tells it. */
export const namePattern = '[a-z0-9][a-z0-9_\\-]{2,29}'
