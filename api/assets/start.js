// Shows the OpenAPI document. The token that is typed in stays in this page and is gone when it is.
const place = document.getElementById("swagger");
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "list",
  validatorUrl: null,
  persistAuthorization: false,
});
